// Typed as far as `virtual_list.js` uses it.
export interface VirtualItem {
  index: number;
  key: string;
  start: number;
}
export interface VirtualizerOptions {
  count: number;
  getScrollElement(): Element | null;
  getItemKey(index: number): string;
  estimateSize(index: number): number;
  onChange(): void;
  overscan: number;
  initialOffset(): number;
  observeElementRect: unknown;
  observeElementOffset: unknown;
  scrollToFn: unknown;
}
export class Virtualizer {
  constructor(options: VirtualizerOptions);
  setOptions(options: VirtualizerOptions): void;
  _didMount(): () => void;
  _willUpdate(): void;
  measureElement(element: Element | null): void;
  getVirtualItems(): VirtualItem[];
  getTotalSize(): number;
}
export const elementScroll: unknown;
export const observeElementOffset: unknown;
export const observeElementRect: unknown;
