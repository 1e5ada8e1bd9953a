// YAML as kubectl and the API server read it: YAML 1.1, but without its base-60 numbers and its dates (both stay strings),
// every key once, aliases and depth bounded.

import {
  type Alias,
  Composer,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  type Scalar,
  type ScalarTag,
  type Tags,
  type YAMLMap,
  type YAMLParseError,
} from 'yaml';
import { setOwn } from '#machinery/deep.ts';
import { quote } from '#machinery/text/go-format.ts';
import { YamlError } from './yaml-error.ts';

export { YamlError };

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

/** As in go-yaml, with underscores. */
const EXPONENTIAL = /^[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)[eE][-+]?[0-9]+$/;

function isExponential(tag: Tags[number]): tag is ScalarTag {
  return typeof tag !== 'string' && tag.collection === undefined && tag.format === 'EXP';
}

function customTags(tags: Tags): Tags {
  const kept = tags.filter((tag) => {
    if (typeof tag === 'string') return true;
    const { tag: name, format } = tag;
    return !leftOut.has(name) && format !== 'TIME';
  });
  // The library takes an exponent without digits before it, 'e-1', for a number.
  const floats = kept.map((tag) => (isExponential(tag) ? { ...tag, test: EXPONENTIAL } : tag));
  return [...floats, octal];
}

export interface YamlOptions {
  /** A key that a map has twice is no error: the last one counts. Default: false. */
  readonly allowDuplicateKeys?: boolean;
  /** How many values all documents may have together, aliases and merge keys expanded. Default: no limit but upstream's on aliases. */
  readonly maxValues?: number;
  /**
   * What becomes of an integer that a number would not keep. 'bigint': a bigint if an int64 keeps it, or else a number, as in Go; 'error': it is
   * one; 'number': it is rounded. Default: 'number'.
   */
  readonly largeIntegers?: 'bigint' | 'error' | 'number';
}

/** The only document of a text (an empty text is null). Throws YamlError, also if there is a second document. */
export function parseYaml(text: string, options: YamlOptions = {}): unknown {
  const documents = parseYamlDocuments(text, options);
  if (documents.length > 1) throw new YamlError('more than one document, expected one', 0);
  return documents[0] ?? null;
}

/** Every document of a text that is not empty, in order, as JSON values. Throws YamlError. */
export function parseYamlDocuments(text: string, options: YamlOptions = {}): unknown[] {
  const { allowDuplicateKeys = false, maxValues = Infinity, largeIntegers = 'number' } = options;
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
  const converter = new Converter(text.length, maxValues, largeIntegers);
  for (const document of composer.compose(tokensOf(text, lines, maxValues))) {
    const error = document.errors[0];
    if (error !== undefined) throw explain(error, lines);
    if (document.contents === null) continue;
    if (!allowDuplicateKeys) checkKeys(document.contents, lines);
    const value = converter.convert(document.contents);
    if (value !== null) values.push(value);
  }
  return values;
}

function* tokensOf(
  text: string,
  lines: LineCounter,
  maxValues: number,
): ReturnType<Parser['parse']> {
  const parser = new Parser(lines.addNewLine);
  const limits = new TokenLimits(lines, maxValues);
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    limits.see(lexeme);
    yield* parser.next(lexeme);
  }
  yield* parser.end();
}

/** Rejects what is nested too deeply or has too many values, by the lexer's tokens: before it is parsed, which takes much longer. */
class TokenLimits {
  readonly #lines: LineCounter;
  readonly #maxValues: number;
  /** Scalars (keys among them), aliases and collections in brackets. */
  #nodes = 0;
  /** Brackets that are open. */
  #flow = 0;
  /** What a line begins with: no block is nested more deeply than its first line has columns and indicators. */
  #block = 0;
  #lineBegins = true;
  #scalarFollows = false;

  constructor(lines: LineCounter, maxValues: number) {
    this.#lines = lines;
    this.#maxValues = maxValues;
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
        this.#countNode();
        break;
      case '\n':
      case '\r\n':
        this.#newLine();
        return;
      case '[':
      case '{':
        this.#flow++;
        this.#countNode();
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
        if (lexeme.startsWith('*')) this.#countNode();
        if (this.#lineBegins && lexeme.startsWith(' ')) this.#block += lexeme.length;
    }
    this.#lineBegins = false;
    if (this.#flow <= MAX_DEPTH && this.#block <= MAX_DEPTH) return;
    const line = this.#lines.lineStarts.length;
    throw new YamlError(`yaml: line ${line}: exceeded max depth of ${MAX_DEPTH}`, line);
  }

  /** At most half of the nodes are keys. */
  #countNode(): void {
    if (++this.#nodes > 2 * this.#maxValues) throw tooManyValues(this.#maxValues);
  }

  #newLine(): void {
    this.#lineBegins = true;
    this.#block = 0;
  }
}

function tooManyValues(maxValues: number): YamlError {
  return new YamlError(`yaml: limit is ${maxValues} values`, 0, 'values');
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
        throw new YamlError(
          `yaml: unmarshal errors:\n  line ${line}: key "${String(key.value)}" already set in map`,
          line,
          'duplicate',
        );
      }
      seen.add(key.value);
    }
    checkKeys(value, lines);
  }
}

/** Aliases count among the values of a document; below these numbers upstream's parser does not look at their share. */
const FEW_VALUES = 1000;
const FEW_ALIASED = 100;

/**
 * Makes JSON values of the library's nodes. The library could do so itself, but looks for each alias's anchor in the whole document, and
 * bounds how often an anchor is used instead of how large all of it becomes. This takes time and memory in proportion to the result.
 */
class Converter {
  readonly #textLength: number;
  readonly #maxValues: number;
  readonly #largeIntegers: 'bigint' | 'error' | 'number';
  /** By name: the latest node before the one that is converted. */
  #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  /** As upstream's parser counts: keys, too. */
  #values = 0;
  #keys = 0;
  /** Values that aliases stand for, and the length of their text. */
  #aliased = 0;
  #aliasedLength = 0;
  #aliasDepth = 0;

  constructor(textLength: number, maxValues: number, largeIntegers: 'bigint' | 'error' | 'number') {
    this.#textLength = textLength;
    this.#maxValues = maxValues;
    this.#largeIntegers = largeIntegers;
  }

  /** Throws YamlError. */
  convert(contents: unknown): unknown {
    this.#anchors = new Map();
    return this.#value(contents, 0);
  }

  #value(node: unknown, depth: number): unknown {
    if (depth > MAX_DEPTH) throw new YamlError(`yaml: exceeded max depth of ${MAX_DEPTH}`, 0);
    if (isAlias(node)) return this.#within(node, (target) => this.#value(target, depth + 1));
    if (!isNode(node)) return null;
    this.#count();
    const { anchor } = node as { anchor?: string };
    if (anchor !== undefined) this.#anchors.set(anchor, node);
    if (isScalar(node)) return this.#scalar(node);
    this.#open.add(node);
    let value: unknown;
    if (isSeq(node)) value = node.items.map((item) => this.#value(item, depth + 1));
    else if (isMap(node)) value = this.#map(node, depth);
    else throw new YamlError('yaml: unknown node', 0);
    this.#open.delete(node);
    return value;
  }

  #map(node: YAMLMap, depth: number): Record<string, unknown> {
    const map: Record<string, unknown> = {};
    for (const { key, value } of node.items) {
      if (isMergeKey(key)) this.#merge(map, value, depth);
      else setOwn(map, this.#key(key), this.#value(value, depth + 1));
    }
    return map;
  }

  /** A key is a scalar: JSON has no others. */
  #key(key: unknown): string {
    if (isAlias(key)) return this.#within(key, (target) => this.#key(target));
    if (isNode(key) && !isScalar(key)) {
      throw new YamlError('error converting YAML to JSON: unsupported map key: a list or map', 0);
    }
    this.#count(true);
    const value = isScalar(key) ? key.value : null;
    if (isScalar(key) && key.anchor !== undefined) this.#anchors.set(key.anchor, key);
    const text = value === null ? '' : String(value);
    if (this.#aliasDepth > 0) this.#aliasedText(text);
    return text;
  }

  /** `<<`: the entries of a map, or of several, that the map does not have itself. */
  #merge(map: Record<string, unknown>, source: unknown, depth: number): void {
    if (depth > MAX_DEPTH) throw new YamlError(`yaml: exceeded max depth of ${MAX_DEPTH}`, 0);
    if (isAlias(source)) {
      this.#within(source, (target) => this.#merge(map, target, depth + 1));
    } else if (isSeq(source)) {
      for (const item of source.items) this.#merge(map, item, depth + 1);
    } else if (isMap(source)) {
      const merged = this.#value(source, depth + 1) as Record<string, unknown>;
      for (const key of Object.keys(merged))
        if (!Object.hasOwn(map, key)) setOwn(map, key, merged[key]);
    } else throw new YamlError('yaml: map merge requires map or sequence of maps as the value', 0);
  }

  #within<T>(alias: Alias, use: (target: Node) => T): T {
    const target = this.#anchors.get(alias.source);
    if (target === undefined)
      throw new YamlError(`yaml: unknown anchor '${alias.source}' referenced`, 0);
    if (this.#open.has(target))
      throw new YamlError(`yaml: anchor '${alias.source}' value contains itself`, 0);
    this.#aliasDepth++;
    const value = use(target);
    this.#aliasDepth--;
    return value;
  }

  #scalar({ value, source }: Scalar): unknown {
    if (typeof value === 'string' && this.#aliasDepth > 0) this.#aliasedText(value);
    // YAML has infinities and NaN; JSON, and so every API object, has not.
    if (typeof value === 'number' && !Number.isFinite(value)) {
      const shown = Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
      throw new YamlError(`error converting YAML to JSON: json: unsupported value: ${shown}`, 0);
    }
    if (typeof value === 'number' && !Number.isSafeInteger(value) && source !== undefined)
      return this.#largeNumber(value, source);
    return value ?? null;
  }

  /** Most are fractions. The library has parsed the text as a number already. */
  #largeNumber(value: number, source: string): unknown {
    if (this.#largeIntegers === 'number' || !Number.isInteger(value)) return value;
    const exact = integerOf(source);
    if (exact === undefined) return value;
    if (this.#largeIntegers === 'error') {
      const why = `number ${quote(source)} is out of range: integers up to ${Number.MAX_SAFE_INTEGER} are kept exactly`;
      throw new YamlError(`yaml: ${why}`, 0);
    }
    return BigInt.asIntN(64, exact) === exact ? exact : value;
  }

  #count(isKey = false): void {
    this.#values++;
    if (isKey) this.#keys++;
    else if (this.#values - this.#keys > this.#maxValues) throw tooManyValues(this.#maxValues);
    if (this.#aliasDepth === 0) return;
    this.#aliased++;
    const few = this.#aliased <= FEW_ALIASED || this.#values <= FEW_VALUES;
    if (!few && this.#aliased / this.#values > allowedAliasRatio(this.#values))
      throw excessiveAliasing();
  }

  #aliasedText(text: string): void {
    this.#aliasedLength += text.length;
    if (this.#aliasedLength > Math.max(MAX_ALIASED_TEXT, this.#textLength))
      throw excessiveAliasing();
  }
}

/** The longest text of an int64, in binary digits, with as many underscores. */
const MAX_INTEGER_LENGTH = 140;

/** Returns the integer that a plain scalar is in YAML 1.1. Undefined: it is another number, or longer than those of 64 bits. */
function integerOf(source: string): bigint | undefined {
  const match =
    source.length > MAX_INTEGER_LENGTH ? null : INTEGER.exec(source.replaceAll('_', ''));
  if (match === null) return undefined;
  const [, sign, hex, octalDigits, binary, decimal = ''] = match;
  const prefixed = [
    ['0x', hex],
    ['0o', octalDigits],
    ['0b', binary],
  ].find(([, digits]) => digits !== undefined);
  const value = BigInt(prefixed?.join('') ?? decimal);
  return sign === '-' ? -value : value;
}

const INTEGER = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|0[bB]([01]+)|([1-9][0-9]*))$/;

/** As long as a body may be. */
const MAX_ALIASED_TEXT = 3 * 1024 * 1024;

const excessiveAliasing = (): YamlError =>
  new YamlError('yaml: document contains excessive aliasing', 0);

/** The share of values that aliases may stand for, as in upstream's parser (go-yaml, decode.go): less in large documents. */
function allowedAliasRatio(values: number): number {
  const [small, large] = [400_000, 4_000_000];
  if (values <= small) return 0.99;
  if (values >= large) return 0.1;
  return 0.99 - 0.89 * ((values - small) / (large - small));
}

function isMergeKey(key: unknown): boolean {
  return (
    isScalar(key) &&
    (key.value === '<<' || typeof key.value === 'symbol') &&
    (key.type === undefined || key.type === 'PLAIN')
  );
}
