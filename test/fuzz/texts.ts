// Puts long texts and long lists into every field of every kind: the server's time must grow in
// proportion to their length.

import { apiVersionOf } from '#api/machinery/scheme.ts';
import type { MessageDescriptor, TypeRef } from '#api/machinery/descriptor.ts';
import { messageOf } from '#api/testing/message-of.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import { send } from '#apiserver/testing/requests.ts';
import { startTestServer } from '#apiserver/testing/server.ts';
import { kindManifests } from '../e2e/kinds.ts';
import { loopUse, machineFactor } from '../security/loop-meter.ts';

export interface TextsResult {
  readonly sent: number;
  /** Whether the run ended early, at `limitMs`. */
  readonly isPartial: boolean;
  readonly slowestMs: number;
  readonly problems: readonly string[];
}

export interface TextsOptions {
  /** A short run tries every n-th field. Default: 1. */
  readonly every?: number;
  readonly progress?: (sent: number) => void;
  /** Called with each problem when it is found. */
  readonly onProblem?: (problem: string) => void;
  /** Ends the run after this time in milliseconds. Default: no limit. */
  readonly limitMs?: number;
}

const LENGTH = 60_000;
const ITEMS = 6000;
/**
 * The limit is two hundred times the duration of linear work, and a tenth of that of quadratic
 * work.
 */
const BUDGET_MS = 150;
const MAX_DEPTH = 9;

/** Texts that take long in regular expressions that search or backtrack. */
const TEXTS = [
  'a!',
  '1x',
  '0x',
  '/x',
  '-',
  '.x',
  ' x',
  ':x',
  'a.!',
  '=x',
  ',',
  '%',
  '\\',
  '\nx',
  '-----BEGIN A-----\n',
].map((text) =>
  text.length === 2
    ? text[0]?.repeat(LENGTH) + (text[1] as string)
    : text.repeat(LENGTH / text.length),
);

interface Field {
  readonly path: readonly string[];
  readonly kind: 'text' | 'list' | 'map';
  readonly type: TypeRef;
}

export async function sendLongTexts({
  every = 1,
  progress,
  onProblem,
  limitMs = Infinity,
}: TextsOptions = {}): Promise<TextsResult> {
  const server = await startTestServer({ detectMutations: false });
  const budgetMs = BUDGET_MS * machineFactor();
  const problems: string[] = [];
  const report = (problem: string): void => {
    problems.push(problem);
    onProblem?.(problem);
  };
  const end = performance.now() + limitMs;
  const isOver = (): boolean => performance.now() > end;
  const seen = new Set<string>();
  let sent = 0;
  let slowestMs = 0;
  let at = 0;
  try {
    for (const { resource, kind, manifest } of kindManifests) {
      const apiVersion = manifest['apiVersion'] as string;
      const served = server.server.catalog
        .snapshot()
        .publishedKinds()
        .find(({ type }) => type.resource === resource && apiVersion === apiVersionOf(type));
      const message = messageOf(apiVersion, kind);
      if (served === undefined || message === undefined) continue;
      for (const field of fieldsOf(message, [], seen, 0)) {
        if (isOver()) break;
        if (at++ % Math.max(every, 1) !== 0) continue;
        for (const value of valuesOf(field)) {
          const body = JSON.stringify(withValue(manifest, field.path, value));
          const shot = {
            method: 'POST',
            path: `${collectionOf(served)}?dryRun=All`,
            headers: { 'content-type': 'application/json' },
            body,
          };
          let ms = Infinity;
          let code = 0;
          for (let attempt = 0; attempt < 3 && ms > budgetMs; attempt++) {
            const { longestTurnMs } = await loopUse(async () => {
              ({ code } = await send(server.server, shot));
            });
            ms = Math.min(ms, longestTurnMs);
          }
          slowestMs = Math.max(slowestMs, ms);
          const what = `${kind} ${field.path.join('.')} of ${JSON.stringify(value).slice(0, 30)}…`;
          if (code >= 500) report(`${what} was answered with ${code}`);
          if (ms > budgetMs)
            report(`${what} occupied the event loop for ${ms.toFixed(0)} ms (${code})`);
          if (++sent % 1000 === 0) progress?.(sent);
        }
      }
    }
    for (const error of server.logger.errors) report(`the server logged an error: ${error}`);
  } finally {
    await server.stop();
  }
  return { sent, isPartial: isOver(), slowestMs, problems };
}

function collectionOf({ type: { group, version, resource, namespaced } }: Kind): string {
  return `${group === '' ? '/api' : `/apis/${group}`}/${version}${namespaced ? '/namespaces/default' : ''}/${resource}`;
}

/** Yields each field of each message once, at its first occurrence. */
function* fieldsOf(
  message: MessageDescriptor,
  path: readonly string[],
  seen: Set<string>,
  depth: number,
): Generator<Field> {
  if (depth > MAX_DEPTH) return;
  for (const { name, type } of message.fields) {
    const id = `${message.key}.${name}`;
    if (seen.has(id) || name === 'status') continue;
    seen.add(id);
    yield* ofType(type, [...path, name], seen, depth);
  }
}

function* ofType(
  type: TypeRef,
  path: readonly string[],
  seen: Set<string>,
  depth: number,
): Generator<Field> {
  switch (type.kind) {
    case 'scalar':
      yield { path, kind: 'text', type };
      break;
    case 'message':
      yield* fieldsOf(type.message, path, seen, depth + 1);
      break;
    case 'list':
      yield { path, kind: 'list', type: type.items };
      yield* ofType(type.items, [...path, '0'], seen, depth);
      break;
    case 'map':
      yield { path, kind: 'map', type: type.values };
      yield* ofType(type.values, [...path, 'key'], seen, depth);
      break;
    case 'either':
      yield* ofType(type.or, path, seen, depth);
  }
}

function* valuesOf({ kind, type }: Field): Generator {
  switch (kind) {
    case 'text':
      if (type.kind === 'scalar' && TEXT_SCALARS.has(type.scalar)) yield* TEXTS;
      break;
    case 'list':
      yield Array.from({ length: ITEMS }, () => emptyOf(type));
      yield Array.from({ length: ITEMS }, (_, i) => filledOf(type, i));
      break;
    case 'map':
      yield Object.fromEntries(
        Array.from({ length: ITEMS }, (_, i) => [`example.com/key-${i}`, filledOf(type, i)]),
      );
      yield Object.fromEntries(Array.from({ length: ITEMS }, (_, i) => [`!${i}`, emptyOf(type)]));
  }
}

const TEXT_SCALARS: ReadonlySet<string> = new Set([
  'string',
  'quantity',
  'time',
  'microTime',
  'duration',
  'intOrString',
  'bytes',
]);

function emptyOf(type: TypeRef): unknown {
  if (type.kind === 'message') return {};
  if (type.kind === 'list') return [];
  if (type.kind === 'map') return {};
  return type.kind === 'scalar' && TEXT_SCALARS.has(type.scalar) ? '' : 0;
}

/** Returns an object whose names, and all other texts, are unique. */
function filledOf(type: TypeRef, index: number): unknown {
  if (type.kind !== 'message')
    return type.kind === 'scalar' && TEXT_SCALARS.has(type.scalar)
      ? `value-${index}`
      : emptyOf(type);
  const texts = type.message.fields.filter(
    (field) => field.type.kind === 'scalar' && field.type.scalar === 'string',
  );
  return Object.fromEntries(texts.slice(0, 4).map(({ name }) => [name, `value-${index}`]));
}

/** Returns the object with the value at the path; creates missing objects on the way. */
function withValue(object: unknown, path: readonly string[], value: unknown): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return value;
  if (first === '0') return [withValue(Array.isArray(object) ? object[0] : undefined, rest, value)];
  const own =
    typeof object === 'object' && object !== null && !Array.isArray(object)
      ? (object as Record<string, unknown>)
      : {};
  return { ...own, [first]: withValue(own[first], rest, value) };
}
