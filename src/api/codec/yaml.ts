// YAML as kubectl and the API server read it: YAML 1.1, but without its base-60 numbers and its dates (both stay strings),
// every key once, aliases bounded.

import { type Document, parseAllDocuments, type ScalarTag, type Tags, type YAMLParseError } from 'yaml';

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
  const parsed = parseAllDocuments(text, {
    version: '1.1',
    customTags,
    uniqueKeys: !allowDuplicateKeys,
    logLevel: 'silent',
    stringKeys: false,
  });
  const values: unknown[] = [];
  for (const document of Array.isArray(parsed) ? (parsed as Document[]) : []) {
    const error = document.errors[0];
    if (error !== undefined) throw explain(error, text);
    if (document.contents === null) continue;
    const value = toJson(document);
    if (value !== null) values.push(value);
  }
  return values;
}

function explain(error: YAMLParseError, text: string): YamlError {
  const line = error.linePos?.[0].line ?? 0;
  if (error.code === 'DUPLICATE_KEY') {
    const key = /^(?:"[^"]*"|'[^']*'|[^:\s]+)/.exec(text.slice(error.pos[0]))?.[0].replace(/^["']|["']$/g, '') ?? '';
    return new YamlError(`yaml: unmarshal errors:\n  line ${line}: key "${key}" already set in map`, line);
  }
  const [first = error.message] = error.message.split('\n');
  return new YamlError(`yaml: ${line === 0 ? '' : `line ${line}: `}${first.replace(/ at line \d+, column \d+:?$/, '')}`, line);
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
