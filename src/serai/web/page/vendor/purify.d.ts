// Typed as far as the page uses it.
export interface PurifyOptions {
  ALLOWED_TAGS?: string[];
  ALLOWED_ATTR?: string[];
  ALLOWED_URI_REGEXP?: RegExp;
  ALLOW_DATA_ATTR?: boolean;
  ALLOW_ARIA_ATTR?: boolean;
}
export interface Purifier {
  sanitize(html: string, options: PurifyOptions): string;
  addHook(name: "afterSanitizeAttributes", hook: (node: Element) => void): void;
}
/** Called with a window it makes another one, with hooks of its own. */
declare const DOMPurify: Purifier & ((root: Window) => Purifier);
export default DOMPurify;
