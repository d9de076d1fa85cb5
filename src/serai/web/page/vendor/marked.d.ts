// Typed as far as the page uses it.
export interface Token {
  type: string;
  raw: string;
  text?: string;
  lang?: string;
}
export interface MarkedOptions {
  gfm?: boolean;
  renderer?: Record<string, (token: any) => string>;
}
export class Marked {
  constructor(options?: MarkedOptions);
  lexer(text: string): Token[];
  parser(tokens: Token[]): string;
}
