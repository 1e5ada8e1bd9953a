// Describes the syntax error of a text with upstream's message: the first character that is not
// allowed, and its context. Only for texts that JSON.parse has rejected.

import { quote } from './go-format.ts';

/** Returns the message; undefined if no error is found. */
export function describeJsonSyntaxError(text: string): string | undefined {
  const scanner = new Scanner(text);
  try {
    scanner.document();
  } catch (error) {
    if (error instanceof Wrong) return error.message;
    throw error;
  }
  return undefined;
}

class Wrong extends Error {}

const SPACE = new Set([' ', '\t', '\n', '\r']);

class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): void {
    this.#value('looking for beginning of value', 0);
    this.#space();
    if (this.#at < this.#text.length) this.#fail('after top-level value');
  }

  #value(where: string, depth: number): void {
    this.#space();
    // Texts of this depth are rejected elsewhere.
    if (depth > 10_000) throw new Wrong('exceeded max depth');
    const character = this.#peek();
    if (character === '{') this.#object(depth);
    else if (character === '[') this.#array(depth);
    else if (character === '"') this.#string();
    else if (character === 't') this.#literal('true');
    else if (character === 'f') this.#literal('false');
    else if (character === 'n') this.#literal('null');
    else if (character === '-' || isDigit(character)) this.#number();
    else this.#fail(where);
  }

  #object(depth: number): void {
    this.#at++;
    this.#space();
    if (this.#peek() === '}') return void this.#at++;
    for (;;) {
      this.#space();
      if (this.#peek() !== '"') this.#fail('looking for beginning of object key string');
      this.#string();
      this.#space();
      if (this.#peek() !== ':') this.#fail('after object key');
      this.#at++;
      this.#value('looking for beginning of value', depth + 1);
      this.#space();
      const next = this.#peek();
      if (next !== ',' && next !== '}') this.#fail('after object key:value pair');
      this.#at++;
      if (next === '}') return;
    }
  }

  #array(depth: number): void {
    this.#at++;
    this.#space();
    if (this.#peek() === ']') return void this.#at++;
    for (;;) {
      this.#value('looking for beginning of value', depth + 1);
      this.#space();
      const next = this.#peek();
      if (next !== ',' && next !== ']') this.#fail('after array element');
      this.#at++;
      if (next === ']') return;
    }
  }

  #string(): void {
    this.#at++;
    for (;;) {
      const character = this.#peek();
      if (character === '"') return void this.#at++;
      if (character < ' ') this.#fail('in string literal');
      this.#at++;
      if (character !== '\\') continue;
      const escape = this.#peek();
      if (!'"\\/bfnrtu'.includes(escape)) this.#fail('in string escape code');
      this.#at++;
      if (escape !== 'u') continue;
      for (let digits = 0; digits < 4; digits++) {
        if (!/[0-9a-fA-F]/.test(this.#peek()))
          this.#fail(String.raw`in \u hexadecimal character escape`);
        this.#at++;
      }
    }
  }

  #literal(word: string): void {
    for (let index = 0; index < word.length; index++) {
      if (this.#peek() !== word[index])
        this.#fail(`in literal ${word} (expecting ${quoted(word[index]!)})`);
      this.#at++;
    }
  }

  #number(): void {
    if (this.#peek() === '-') this.#at++;
    if (!isDigit(this.#peek())) this.#fail('in numeric literal');
    if (this.#peek() === '0') this.#at++;
    else this.#digits();
    if (this.#text[this.#at] === '.') {
      this.#at++;
      if (!isDigit(this.#peek())) this.#fail('after decimal point in numeric literal');
      this.#digits();
    }
    if (this.#text[this.#at] === 'e' || this.#text[this.#at] === 'E') {
      this.#at++;
      if (this.#text[this.#at] === '+' || this.#text[this.#at] === '-') this.#at++;
      if (!isDigit(this.#peek())) this.#fail('in exponent of numeric literal');
      this.#digits();
    }
  }

  #digits(): void {
    while (isDigit(this.#text[this.#at] ?? '')) this.#at++;
  }

  #space(): void {
    while (SPACE.has(this.#text[this.#at] ?? '')) this.#at++;
  }

  #peek(): string {
    const character = this.#text[this.#at];
    if (character === undefined) throw new Wrong('unexpected end of JSON input');
    return character;
  }

  #fail(where: string): never {
    throw new Wrong(`invalid character ${quoted(this.#peek())} ${where}`);
  }
}

const isDigit = (character: string): boolean => character >= '0' && character <= '9';

/** Returns a character as Go quotes it. */
function quoted(character: string): string {
  if (character === "'") return String.raw`'\''`;
  if (character === '"') return `'"'`;
  // Go reads bytes: it names the first one of a character with several.
  const shown = character > '\xff' ? String.fromCharCode(Buffer.from(character)[0]!) : character;
  return `'${quote(shown).slice(1, -1)}'`;
}
