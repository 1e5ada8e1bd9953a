// Expands words into arguments: parameters, command substitution, arithmetic, field splitting and
// patterns.

import { evaluateArithmetic, ArithmeticError } from './arithmetic.ts';
import type { List, Word, WordPart } from './ast.ts';
import { FileError, resolvePath, type FileSystem } from './file-system.ts';
import { MAX_TEXT } from './kernel.ts';
import { Pattern, type PatternPart } from './pattern.ts';

/** The state that expansions read and change. */
export interface ExpansionContext {
  readonly files: FileSystem;
  readonly directory: string;
  get(name: string): string | undefined;
  set(name: string, value: string): void;
  readonly positional: readonly string[];
  /** `set -f`: patterns are not replaced by file names. */
  readonly noGlob: boolean;
  /** `set -u`: a parameter that is not set is an error. */
  readonly noUnset: boolean;
  /** Runs the list in a subshell and resolves with its output. */
  substitute(list: List): Promise<string>;
}

/** A failed expansion, which ends the shell. */
export class ExpansionError extends Error {}

const MAX_FIELDS = 50_000;
const MAX_TRIMMED = 2048;

/** A piece of a field. Unquoted text from an expansion can be split and matched. */
interface Piece {
  readonly text: string;
  readonly quoted: boolean;
  /** A field ends before this piece: between the values of "$@". */
  readonly breakBefore?: boolean;
  readonly split?: boolean;
}

/** Expands words into arguments. Rejects with ExpansionError. */
export async function expandWords(
  words: readonly Word[],
  context: ExpansionContext,
): Promise<string[]> {
  const fields: string[] = [];
  for (const word of words) {
    const pieces = await expandParts(word, context);
    for (const field of splitFields(pieces, context.get('IFS') ?? ' \t\n'))
      fields.push(...glob(field, context));
    if (fields.length > MAX_FIELDS) throw new ExpansionError('argument list too long');
  }
  return fields;
}

/** Expands a word into a single text, for assignments, redirections and here-documents. */
export async function expandText(word: Word, context: ExpansionContext): Promise<string> {
  const pieces = await expandParts(word, context);
  const text = pieces
    .map((piece) => (piece.breakBefore === true ? ` ${piece.text}` : piece.text))
    .join('');
  if (text.length > MAX_TEXT) throw new ExpansionError('out of memory');
  return text;
}

/** Expands a word into a pattern: quoted parts match literally. */
export async function expandPattern(word: Word, context: ExpansionContext): Promise<Pattern> {
  return new Pattern(await expandParts(word, context));
}

async function expandParts(word: Word, context: ExpansionContext): Promise<Piece[]> {
  const pieces: Piece[] = [];
  for (const [index, part] of word.entries()) {
    if (index === 0 && part.kind === 'text' && !part.quoted && /^~(?=\/|$)/.test(part.text)) {
      pieces.push(
        { text: context.get('HOME') ?? '/root', quoted: true },
        { text: part.text.slice(1), quoted: false },
      );
    } else pieces.push(...(await expandPart(part, context)));
  }
  return pieces;
}

async function expandPart(part: WordPart, context: ExpansionContext): Promise<Piece[]> {
  switch (part.kind) {
    case 'text':
      return [{ text: part.text, quoted: part.quoted }];
    case 'command': {
      const output = await context.substitute(part.list);
      return [{ text: output.replace(/\n+$/, ''), quoted: part.quoted, split: !part.quoted }];
    }
    case 'arithmetic':
      try {
        const text = await expandText(part.expression, context);
        return [
          { text: evaluateArithmetic(text, context), quoted: part.quoted, split: !part.quoted },
        ];
      } catch (error) {
        throw error instanceof ArithmeticError ? new ExpansionError(error.message) : error;
      }
    case 'parameter':
      return await expandParameter(part, context);
  }
}

async function expandParameter(
  part: Extract<WordPart, { kind: 'parameter' }>,
  context: ExpansionContext,
): Promise<Piece[]> {
  const { name, operator, word, quoted } = part;
  if ((name === '@' || name === '*') && operator === '')
    return allParameters(name, quoted, context);
  const value = context.get(name);
  const piece = (text: string): Piece[] => [{ text, quoted, split: !quoted }];
  if (operator === 'length') return piece(String((value ?? '').length));
  const test = /^(:?)([-=+?])$/.exec(operator);
  if (test !== null) {
    const present = value !== undefined && !(test[1] === ':' && value === '');
    switch (test[2]) {
      case '+':
        return present ? await alternative(word, quoted, context) : piece('');
      case '-':
        return present ? piece(value) : await alternative(word, quoted, context);
      case '=': {
        if (present) return piece(value);
        const text = await expandText(word, context);
        context.set(name, text);
        return piece(text);
      }
      default: {
        if (present) return piece(value);
        throw new ExpansionError(
          `${name}: ${(await expandText(word, context)) || 'parameter not set or null'}`,
        );
      }
    }
  }
  if (value === undefined && context.noUnset)
    throw new ExpansionError(`${name}: parameter not set`);
  if (operator === '') return piece(value ?? '');
  return piece(trim(value ?? '', operator, await expandPattern(word, context)));
}

async function alternative(
  word: Word,
  quoted: boolean,
  context: ExpansionContext,
): Promise<Piece[]> {
  if (quoted) return [{ text: await expandText(word, context), quoted: true }];
  return (await expandParts(word, context)).map((piece) =>
    piece.quoted ? piece : { ...piece, split: true },
  );
}

function allParameters(name: string, quoted: boolean, context: ExpansionContext): Piece[] {
  const { positional } = context;
  if (quoted && name === '*')
    return [{ text: positional.join((context.get('IFS') ?? ' ').slice(0, 1)), quoted: true }];
  return positional.map((text, index) => ({
    text,
    quoted,
    split: !quoted,
    ...(index > 0 && { breakBefore: true }),
  }));
}

/**
 * Removes a match. `#`, `##`: of a prefix; `%`, `%%`: of a suffix. The double forms remove the
 * longest match.
 */
function trim(value: string, operator: string, pattern: Pattern): string {
  const lengths = Array.from({ length: value.length + 1 }, (_, length) => length);
  if (operator.length === 2) lengths.reverse();
  // Limits the work: each length is matched against the text once.
  if (value.length > MAX_TRIMMED) throw new ExpansionError('value is too long for a pattern');
  for (const length of lengths) {
    const part = operator.startsWith('#')
      ? value.slice(0, length)
      : value.slice(value.length - length);
    if (pattern.matches(part))
      return operator.startsWith('#') ? value.slice(length) : value.slice(0, value.length - length);
  }
  return value;
}

type Field = PatternPart[];

function splitFields(pieces: readonly Piece[], separators: string): Field[] {
  const fields: Field[] = [];
  let current: Field | undefined;
  const finish = (): void => {
    if (current !== undefined) fields.push(current);
    current = undefined;
  };
  for (const { text, quoted, breakBefore, split } of pieces) {
    if (breakBefore === true) finish();
    if (split !== true) {
      // An empty unquoted text makes no field; '' and "" do.
      if (text !== '' || quoted) (current ??= []).push({ text, quoted });
      continue;
    }
    let rest = '';
    for (const char of text) {
      if (!separators.includes(char)) {
        rest += char;
        continue;
      }
      if (rest !== '') (current ??= []).push({ text: rest, quoted: false });
      // A separator other than a blank ends a field even if the field is empty.
      else if (!' \t\n'.includes(char)) current ??= [];
      rest = '';
      finish();
    }
    if (rest !== '') (current ??= []).push({ text: rest, quoted: false });
  }
  finish();
  return fields;
}

/** Returns the matching files; the text itself if there are none. */
function glob(field: Field, context: ExpansionContext): string[] {
  const text = field.map((piece) => piece.text).join('');
  if (context.noGlob || !new Pattern(field).special) return [text];
  const segments = segmentsOf(field);
  let paths = [text.startsWith('/') ? '/' : ''];
  for (const [index, segment] of segments.entries()) {
    const pattern = new Pattern(segment);
    const last = index === segments.length - 1;
    const next: string[] = [];
    for (const path of paths) {
      const plain = segment.map((piece) => piece.text).join('');
      if (!pattern.special) {
        next.push(`${path}${plain}${last ? '' : '/'}`);
        continue;
      }
      try {
        for (const [name] of context.files.list(resolvePath(context.directory, path || '.'))) {
          if (pattern.matches(name) && (!name.startsWith('.') || plain.startsWith('.')))
            next.push(`${path}${name}${last ? '' : '/'}`);
        }
      } catch (error) {
        if (!(error instanceof FileError)) throw error;
      }
    }
    paths = next;
  }
  const found = paths.filter((path) => {
    try {
      return context.files.find(resolvePath(context.directory, path), false) !== undefined;
    } catch (error) {
      if (error instanceof FileError) return false;
      throw error;
    }
  });
  return found.length === 0 ? [text] : found;
}

function segmentsOf(field: Field): Field[] {
  const segments: Field[] = [[]];
  for (const { text, quoted } of field) {
    for (const [index, part] of text.split('/').entries()) {
      if (index > 0) segments.push([]);
      if (part !== '') segments.at(-1)!.push({ text: part, quoted });
    }
  }
  return segments.filter((segment) => segment.length > 0);
}
