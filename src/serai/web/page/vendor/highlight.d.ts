// Typed as far as the page uses it.
declare const hljs: {
  getLanguage(name: string): unknown;
  highlight(text: string, options: { language: string; ignoreIllegals?: boolean }): { value: string };
};
export default hljs;
