// YAML as kubectl and the API server read it: YAML 1.1, but without its base-60 numbers and its dates (both stay strings),
// every key once, aliases and depth bounded.

import {
  Composer,
  type Document,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  Parser,
  type ScalarTag,
  type Tags,
  type YAMLParseError,
} from 'yaml';

export class YamlError extends Error {
  /** 1-based line, 0 if it is not known. */
  readonly line: number;

  constructor(message: string, line: number) {
    super(message);
    this.name = 'YamlError';
    this.line = line;
  }
}

/** Aliases of aliases may multiply a small text into a huge value; a document that needs more than this is refused. */
const MAX_ALIAS_COUNT = 1000;

/** The library recurses: a text that is nothing but brackets would take it minutes, and then the whole stack. */
const MAX_DEPTH = 500;

const leftOut: ReadonlySet<string> = new Set([
  'tag:yaml.org,2002:timestamp',
  'tag:yaml.org,2002:binary',
  'tag:yaml.org,2002:omap',
  'tag:yaml.org,2002:pairs',
  'tag:yaml.org,2002:set',
]);

/** Octal numbers as YAML 1.2 writes them, which kubectl's parser takes beside those of 1.1. */
const octal: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  test: /^[-+]?0[oO][0-7_]+$/,
  resolve(text) {
    const digits = text.replaceAll('_', '').replace(/^([-+]?)0[oO]/, '');
    return (text.startsWith('-') ? -1 : 1) * Number.parseInt(digits, 8);
  },
};

function customTags(tags: Tags): Tags {
  const kept = tags.filter((tag) => {
    if (typeof tag === 'string') return true;
    const { tag: name, format } = tag;
    return !leftOut.has(name) && format !== 'TIME';
  });
  return [...kept, octal];
}

export interface YamlOptions {
  /** A key that a map has twice is no error: the last one counts. Default: false. */
  readonly allowDuplicateKeys?: boolean;
}

/** The only document of a text (an empty text is null). Throws YamlError, also if there is a second document. */
export function parseYaml(text: string, options: YamlOptions = {}): unknown {
  const documents = parseYamlDocuments(text, options);
  if (documents.length > 1) throw new YamlError('more than one document, expected one', 0);
  return documents[0] ?? null;
}

/** Every document of a text that is not empty, in order, as JSON values. Throws YamlError. */
export function parseYamlDocuments(text: string, { allowDuplicateKeys = false }: YamlOptions = {}): unknown[] {
  const lines = new LineCounter();
  const composer = new Composer({
    version: '1.1',
    customTags,
    // The library compares each key of a map with all before it; see checkKeys.
    uniqueKeys: false,
    logLevel: 'silent',
    stringKeys: false,
  });
  const values: unknown[] = [];
  for (const document of composer.compose(tokensOf(text, lines))) {
    const error = document.errors[0];
    if (error !== undefined) throw explain(error, lines);
    if (document.contents === null) continue;
    if (!allowDuplicateKeys) checkKeys(document.contents, lines);
    const value = toJson(document);
    if (value !== null) values.push(value);
  }
  return values;
}

function* tokensOf(text: string, lines: LineCounter): ReturnType<Parser['parse']> {
  const parser = new Parser(lines.addNewLine);
  const depth = new DepthLimit(lines);
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    depth.see(lexeme);
    yield* parser.next(lexeme);
  }
  yield* parser.end();
}

/** Refuses what is nested too deeply, by the lexer's tokens, before it is parsed. */
class DepthLimit {
  readonly #lines: LineCounter;
  /** Brackets that are open. */
  #flow = 0;
  /** What a line begins with: no block is nested more deeply than its first line has columns and indicators. */
  #block = 0;
  #lineBegins = true;
  #scalarFollows = false;

  constructor(lines: LineCounter) {
    this.#lines = lines;
  }

  see(lexeme: string): void {
    if (this.#scalarFollows) {
      // Text, whatever is in it; that of a block ends a line.
      this.#scalarFollows = false;
      if (lexeme.endsWith('\n')) this.#newLine();
      return;
    }
    switch (lexeme) {
      case SCALAR_FOLLOWS:
        this.#scalarFollows = true;
        break;
      case '\n':
      case '\r\n':
        this.#newLine();
        return;
      case '[':
      case '{':
        this.#flow++;
        break;
      case ']':
      case '}':
        this.#flow--;
        break;
      case '-':
      case '?':
      case ':':
        if (this.#flow === 0) this.#block++;
        break;
      default:
        if (this.#lineBegins && lexeme.startsWith(' ')) this.#block += lexeme.length;
    }
    this.#lineBegins = false;
    if (this.#flow <= MAX_DEPTH && this.#block <= MAX_DEPTH) return;
    const line = this.#lines.lineStarts.length;
    throw new YamlError(`yaml: line ${line}: exceeded max depth of ${MAX_DEPTH}`, line);
  }

  #newLine(): void {
    this.#lineBegins = true;
    this.#block = 0;
  }
}

/** What the lexer says before a scalar. */
const SCALAR_FOLLOWS = '\u001f';

function explain(error: YAMLParseError, lines: LineCounter): YamlError {
  const { line } = lines.linePos(error.pos[0]);
  const [first = error.message] = error.message.split('\n');
  return new YamlError(`yaml: ${line === 0 ? '' : `line ${line}: `}${first}`, line);
}

/** Throws YamlError for a key that its map has twice. */
function checkKeys(node: unknown, lines: LineCounter): void {
  if (isSeq(node)) for (const item of node.items) checkKeys(item, lines);
  if (!isMap(node)) return;
  const seen = new Set<unknown>();
  for (const { key, value } of node.items) {
    if (isScalar(key)) {
      if (seen.has(key.value)) {
        const { line } = lines.linePos(key.range?.[0] ?? 0);
        throw new YamlError(`yaml: unmarshal errors:\n  line ${line}: key "${String(key.value)}" already set in map`, line);
      }
      seen.add(key.value);
    }
    checkKeys(value, lines);
  }
}

function toJson(document: Document): unknown {
  try {
    return checkNumbers(document.toJS({ maxAliasCount: MAX_ALIAS_COUNT }));
  } catch (error) {
    // The library throws these only here: an alias without an anchor, or more aliases than allowed.
    if (error instanceof ReferenceError) throw new YamlError(`yaml: ${error.message}`, 0);
    throw error;
  }
}

/** YAML has infinities and NaN; JSON, and so every API object, has not. */
function checkNumbers(value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new YamlError(
      `error converting YAML to JSON: json: unsupported value: ${Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'}`,
      0,
    );
  }
  if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) checkNumbers(item);
  return value;
}
