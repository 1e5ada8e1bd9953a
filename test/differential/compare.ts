// Compares two answers, without the values that differ between any two servers: identities, times,
// and allocated addresses.

import { parseYaml } from '#api/machinery/codec/yaml.ts';

export interface Answer {
  readonly code: number;
  /** The parsed body. */
  readonly body: unknown;
  readonly warnings: readonly string[];
}

/**
 * Returns the value of the JSON text, the list of values if each line is JSON (the events of a
 * watch), the value of an object in YAML, or else the text itself.
 */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return (
      parsedLines(text) ??
      (/^\w+:[ \n]/.test(text) && /^apiVersion: /m.test(text) ? parseYaml(text) : text)
    );
  }
}

function parsedLines(text: string): unknown[] | undefined {
  try {
    return text
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
  } catch {
    return undefined;
  }
}

/** The letters and digits of generated names, and the longest prefix that they keep. */
const GENERATED = '[bcdfghjklmnpqrstvwxz2456789]{5}';
const LONGEST_PREFIX = 58;

/** Returns the answer without the random end of the name that the server has generated. */
export function withoutGeneratedName(answer: Answer, sent: string): Answer {
  const prefix = /"generateName":"([^"\\]+)"/.exec(sent)?.[1]?.slice(0, LONGEST_PREFIX);
  if (prefix === undefined) return answer;
  const escaped = prefix.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
  const name = new RegExp(`${escaped}${GENERATED}(?!\\w)`, 'g');
  const body: unknown = JSON.parse(JSON.stringify(answer.body).replaceAll(name, `${prefix}random`));
  return { ...answer, body };
}

/** The rest of the differences of very different answers is left out. */
const MAX_DIFFERENCES = 200;

type JsonObject = Record<string, unknown>;

/** Returns the differences, a line each with its path. Empty: none. */
export function differences(ours: Answer, theirs: Answer): readonly string[] {
  const found: string[] = [];
  if (ours.code !== theirs.code) found.push(`code: ${ours.code}, reference ${theirs.code}`);
  // A failure beside a success: only its message.
  if (isSuccess(ours) !== isSuccess(theirs)) {
    compare(messageOf(ours), messageOf(theirs), '.message', found);
    return found;
  }
  compare(
    withSortedCauses(normalized(ours.body)),
    withSortedCauses(normalized(theirs.body)),
    '',
    found,
  );
  compare(ours.warnings, theirs.warnings, 'warnings', found);
  return found;
}

const isSuccess = ({ code }: Answer): boolean => code >= 200 && code < 300;

const messageOf = (answer: Answer): unknown =>
  isSuccess(answer) || !isObject(answer.body) ? undefined : normalized(answer.body['message']);

function compare(ours: unknown, theirs: unknown, path: string, found: string[]): void {
  if (found.length >= MAX_DIFFERENCES) return;
  if (Array.isArray(ours) && Array.isArray(theirs)) {
    for (let index = 0; index < Math.max(ours.length, theirs.length); index++) {
      compare(ours[index], theirs[index], `${path}[${index}]`, found);
    }
    return;
  }
  if (isObject(ours) && isObject(theirs)) {
    for (const key of new Set([...Object.keys(ours), ...Object.keys(theirs)]))
      compare(ours[key], theirs[key], `${path}.${key}`, found);
    return;
  }
  if (typeof ours === 'string' && typeof theirs === 'string' && path === '') {
    compareLines(ours, theirs, found);
    return;
  }
  if (!Object.is(ours, theirs)) found.push(`${path}: ${text(ours)}, reference ${text(theirs)}`);
}

/** Compares texts. Of texts with several lines, each line that only one of them has is reported. */
function compareLines(ours: string, theirs: string, found: string[]): void {
  if (ours === theirs) return;
  const [own, other] = [ours.split('\n'), theirs.split('\n')];
  if (own.length === 1 || other.length === 1) {
    found.push(`: ${text(ours)}, reference ${text(theirs)}`);
    return;
  }
  const before = found.length;
  for (const line of own)
    if (!other.includes(line)) found.push(`: ${text(line)}, reference nothing`);
  for (const line of other)
    if (!own.includes(line)) found.push(`: nothing, reference ${text(line)}`);
  if (found.length === before) found.push(': the order of the lines differs');
}

const text = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

interface Cause {
  readonly reason: string;
  readonly message: string;
  readonly field?: string;
}

/**
 * Returns the body with the causes of an invalid object sorted, since they are compared as a set:
 * Go visits maps in any order, and several layers of the reference report the same mistake. Values
 * in the reference's causes (dumps and diffs of its own structures) are left out: they are not
 * meant for programs.
 */
function withSortedCauses(body: unknown): unknown {
  if (!isObject(body)) return body;
  const details = body['details'] as { readonly causes?: readonly Cause[] } | undefined;
  // Upstream visits the owners of an apply's conflicts in any order.
  if (body['reason'] === 'Conflict' && details?.causes !== undefined) {
    const causes = details.causes.map((cause) => JSON.stringify(cause)).toSorted();
    return { ...body, details: { ...details, causes } };
  }
  if (body['reason'] !== 'Invalid') return body;
  const causes = (details?.causes ?? []).map(
    ({ reason, message, field }) => `${field}: ${reason}: ${withoutDump(message)}`,
  );
  const message = String(body['message']).replace(/ is invalid: .*/s, ' is invalid');
  return { ...body, message, details: { ...details, causes: [...new Set(causes)].sort() } };
}

const withoutDump = (message: string): string =>
  message
    .replace(/\n.*/s, '')
    .replace(/^Invalid value: "(?:\{|map\[)(?:[^"\\]|\\.)*"/s, 'Invalid value: …')
    .replace(/^(Invalid value|Unsupported value|Duplicate value): [{[].*[}\]](: |$)/s, '$1: …$2')
    .replace(/^(Invalid value|Unsupported value|Duplicate value): null(: |$)/s, '$1: …$2');

const UNIQUE: ReadonlySet<string> = new Set([
  'uid',
  'creationTimestamp',
  'resourceVersion',
  'time',
  'deletionTimestamp',
]);

function normalized(value: unknown, path = ''): unknown {
  if (Array.isArray(value))
    return value.map((item, index) => normalized(item, `${path}[${index}]`));
  if (!isObject(value)) return typeof value === 'string' ? withoutIdentities(value) : value;
  const result: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    const at = `${path}.${key}`;
    // Descriptions are our own, and ages belong to objects that another run may have created.
    if (key === 'description' && path.includes('.columnDefinitions')) result[key] = 'description';
    else if (key === 'cells') result[key] = (item as unknown[]).map(normalizedCell);
    else if (key === 'clusterIP' || key === 'clusterIPs') result[key] = replacedAddresses(item);
    // In a dry run the reference allocates ports from the end of the range upwards.
    else if (
      /^(nodePort|healthCheckNodePort)$/.test(key) &&
      typeof item === 'number' &&
      item >= 30_000 &&
      item < 32_800
    )
      result[key] = 'port';
    else if (key === 'continue' && item !== '') result[key] = 'token';
    else if (
      UNIQUE.has(key) &&
      item !== null &&
      item !== '0' &&
      /\.metadata(\.managedFields\[\d+\])?$/.test(path)
    )
      result[key] = 'unique';
    else result[key] = normalized(item, at);
  }
  return result;
}

function normalizedCell(cell: unknown): unknown {
  if (typeof cell !== 'string') return normalized(cell);
  if (/^\d+[smh]|^\d{4}-\d\d-\d\dT/.test(cell)) return 'age';
  return withoutIdentities(cell)
    .replaceAll(/\b10\.96\.\d+\.\d+/g, 'address')
    .replaceAll(/:3[0-2]\d{3}\//g, ':port/');
}

const replacedAddresses = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll(/"10\.96\.\d+\.\d+"/g, '"address"'));

const withoutIdentities = (message: string): string =>
  message
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (time) =>
      time.startsWith('2026-01-0') ? time : 'TIME',
    )
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID')
    .replaceAll(/\{(TCP|UDP|SCTP) \d+\}/g, '{$1 PORT}')
    .replaceAll(/0x[0-9a-f]{6,}/g, 'ADDRESS')
    .replaceAll(/\b10\.96\.\d+\.\d+\b(?!\/)/g, 'address')
    .replaceAll(/in record \(\d+\)|current: \d+|ResourceVersion in object meta: \d+/g, 'REVISION');
