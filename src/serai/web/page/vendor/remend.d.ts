// Typed as far as the page uses it.
export default function remend(text: string): string;
