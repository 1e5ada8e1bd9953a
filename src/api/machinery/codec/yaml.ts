// Parses YAML as kubectl and the API server do: YAML 1.1 without its base-60 numbers and dates
// (both stay strings), with unique keys, limited aliases and limited depth.

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

/**
 * The maximum depth. The library recurses: a text of brackets would take minutes and exhaust the
 * stack.
 */
const MAX_DEPTH = 500;

const leftOut: ReadonlySet<string> = new Set([
  'tag:yaml.org,2002:timestamp',
  'tag:yaml.org,2002:binary',
  'tag:yaml.org,2002:omap',
  'tag:yaml.org,2002:pairs',
  'tag:yaml.org,2002:set',
]);

/**
 * Octal numbers of YAML 1.2, which kubectl's parser accepts in addition to octal numbers of YAML
 * 1.1.
 */
const octal: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  test: /^[-+]?0[oO][0-7_]+$/,
  resolve(text) {
    const digits = text.replaceAll('_', '').replace(/^([-+]?)0[oO]/, '');
    return (text.startsWith('-') ? -1 : 1) * Number.parseInt(digits, 8);
  },
};

/** Binary data, of which a text is made, as in go-yaml. */
const binary: ScalarTag = {
  tag: 'tag:yaml.org,2002:binary',
  resolve: (text) => Buffer.from(text, 'base64').toString('utf8'),
};

const FLOAT = 'tag:yaml.org,2002:float';

/** Numbers with an exponent as in go-yaml, with underscores. */
const EXPONENTIAL = /^[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)[eE][-+]?[0-9]+$/;

/** Numbers with a point. The library would also accept a point without digits, '.', as a number. */
const WITH_POINT = /^[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)$/;

/** Returns the text of the tag's numbers, if it is another one than the library's. */
function floatTest(tag: Tags[number]): RegExp | undefined {
  if (typeof tag === 'string' || tag.collection !== undefined) return undefined;
  if (tag.format === 'EXP') return EXPONENTIAL;
  // The tag of numbers with a point is the one whose test a single point passes.
  return tag.tag === FLOAT && tag.test?.test('1.5') === true ? WITH_POINT : undefined;
}

function customTags(tags: Tags): Tags {
  const kept = tags.filter((tag) => {
    if (typeof tag === 'string') return true;
    const { tag: name, format } = tag;
    return !leftOut.has(name) && format !== 'TIME';
  });
  // The library would accept an exponent without digits before it, 'e-1', and '.' as numbers.
  const floats = kept.map((tag) => {
    const test = floatTest(tag);
    return test === undefined ? tag : ({ ...(tag as ScalarTag), test } satisfies ScalarTag);
  });
  return [...floats, octal, binary];
}

export interface YamlOptions {
  /** Accept duplicate keys in a map: the last one counts. Default: false. */
  readonly allowDuplicateKeys?: boolean;
  /**
   * The maximum number of values of all documents together, with expanded aliases and merge keys.
   * Default: only upstream's limit on aliases.
   */
  readonly maxValues?: number;
  /**
   * The handling of integers beyond 2^53. 'bigint': a bigint if an int64 can hold it, otherwise a
   * number, as in Go. 'error': an error. 'number': it is rounded. Default: 'number'.
   */
  readonly largeIntegers?: 'bigint' | 'error' | 'number';
}

/**
 * Returns the only document of a text; null for an empty text. Throws YamlError, also for a second
 * document.
 */
export function parseYaml(text: string, options: YamlOptions = {}): unknown {
  const documents = parseYamlDocuments(text, options);
  if (documents.length > 1) throw new YamlError('more than one document, expected one', 0);
  return documents[0] ?? null;
}

/** The characters that no YAML text has; a byte order mark may only be its first. */
const NOT_ALLOWED = /[^\P{Cc}\t\n\r\u0085]|[\p{Cs}\uFFFE\uFFFF]|(?<!^)\uFEFF/u;

/** Returns every document that is not empty, in order, as JSON values. Throws YamlError. */
export function parseYamlDocuments(text: string, options: YamlOptions = {}): unknown[] {
  if (NOT_ALLOWED.test(text)) throw new YamlError('yaml: control characters are not allowed', 0);
  const { allowDuplicateKeys = false, maxValues = Infinity, largeIntegers = 'number' } = options;
  const lines = new LineCounter();
  const composer = new Composer({
    version: '1.1',
    customTags,
    // The library would compare each key of a map with all before it; see checkKeys.
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

/**
 * Rejects text with too deep nesting or too many values by the lexer's tokens, before it is parsed,
 * which takes much longer.
 */
class TokenLimits {
  readonly #lines: LineCounter;
  readonly #maxValues: number;
  /** The number of scalars (with keys), aliases and collections in brackets. */
  #nodes = 0;
  /** The number of open brackets. */
  #flow = 0;
  /** The columns and indicators at the beginning of a line, which limit the depth of its block. */
  #block = 0;
  #lineBegins = true;
  #scalarFollows = false;

  constructor(lines: LineCounter, maxValues: number) {
    this.#lines = lines;
    this.#maxValues = maxValues;
  }

  see(lexeme: string): void {
    if (this.#scalarFollows) {
      // The token is text with any content; the text of a block ends a line.
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

  /**
   * Counts a node. A map has a key node for each value, so the limit of nodes is twice the limit of
   * values.
   */
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

/** The lexer's token before a scalar. */
const SCALAR_FOLLOWS = '\u001f';

function explain(error: YAMLParseError, lines: LineCounter): YamlError {
  const { line } = lines.linePos(error.pos[0]);
  const [first = error.message] = error.message.split('\n');
  return new YamlError(`yaml: ${line === 0 ? '' : `line ${line}: `}${first}`, line);
}

/** Further duplicate keys of a text are not reported. */
const MAX_DUPLICATES = 100;

/** Throws YamlError with all duplicate keys in maps, each at the line of its value. */
function checkKeys(node: unknown, lines: LineCounter): void {
  const duplicates: Duplicate[] = [];
  findDuplicates(node, duplicates);
  const [first] = duplicates;
  if (first === undefined) return;
  const lineOf = ({ at }: Duplicate): number => lines.linePos(at).line;
  const problems = duplicates.map(
    (each) => `\n  line ${lineOf(each)}: key ${each.key} already set in map`,
  );
  const message = `yaml: unmarshal errors:${problems.join('')}`;
  throw new YamlError(message, lineOf(first), 'duplicate');
}

interface Duplicate {
  /** The key as upstream prints it: text in quotes. */
  readonly key: string;
  /** The offset of the value. */
  readonly at: number;
}

/** Appends duplicate keys in the order in which upstream's decoder finds them: a value's before its key. */
function findDuplicates(node: unknown, found: Duplicate[]): void {
  if (isSeq(node)) for (const item of node.items) findDuplicates(item, found);
  if (!isMap(node)) return;
  const seen = new Set<unknown>();
  for (const { key, value } of node.items) {
    findDuplicates(value, found);
    if (!isScalar(key)) continue;
    if (seen.has(key.value) && found.length < MAX_DUPLICATES) {
      const text = typeof key.value === 'string' ? JSON.stringify(key.value) : String(key.value);
      const at = (isNode(value) ? value.range?.[0] : undefined) ?? key.range?.[0] ?? 0;
      found.push({ key: text, at });
    }
    seen.add(key.value);
  }
}

/**
 * Limits of values and aliases up to which upstream's parser does not check the share of aliases.
 */
const FEW_VALUES = 1000;
const FEW_ALIASED = 100;

/**
 * Converts the library's nodes to JSON values. The library's own conversion searches the whole
 * document for each alias' anchor, and limits how often an anchor is used instead of the total
 * size. This one takes time and memory in proportion to the result.
 */
class Converter {
  readonly #textLength: number;
  readonly #maxValues: number;
  readonly #largeIntegers: 'bigint' | 'error' | 'number';
  /** The latest preceding node of each anchor, by name. */
  #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  /** The number of values, counted as in upstream's parser: with keys. */
  #values = 0;
  #keys = 0;
  /** The number of values that aliases stand for, and the length of their text. */
  #aliased = 0;
  #aliasedLength = 0;
  #aliasDepth = 0;

  constructor(textLength: number, maxValues: number, largeIntegers: 'bigint' | 'error' | 'number') {
    this.#textLength = textLength;
    this.#maxValues = maxValues;
    this.#largeIntegers = largeIntegers;
  }

  /** Returns the JSON value of a document. Throws YamlError. */
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

  /** Returns a key, which must be a scalar as in JSON. */
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

  /** Handles `<<`: adds the entries of one or several maps that the map does not have itself. */
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
    // YAML has infinities and NaN; JSON, and therefore every API object, does not.
    if (typeof value === 'number' && !Number.isFinite(value)) {
      const shown = Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
      throw new YamlError(`error converting YAML to JSON: json: unsupported value: ${shown}`, 0);
    }
    if (typeof value === 'number' && !Number.isSafeInteger(value) && source !== undefined)
      return this.#largeNumber(value, source);
    return value ?? null;
  }

  /** Most such numbers are fractions. The library has parsed the text as a number already. */
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

/**
 * Returns the integer of a plain scalar in YAML 1.1; undefined if it is another number, or exceeds
 * 64 bits.
 */
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

/** The length of the longest body. */
const MAX_ALIASED_TEXT = 3 * 1024 * 1024;

const excessiveAliasing = (): YamlError =>
  new YamlError('yaml: document contains excessive aliasing', 0);

/**
 * Returns the share of values that aliases may stand for, as in upstream's parser (go-yaml,
 * decode.go): less in large documents.
 */
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
