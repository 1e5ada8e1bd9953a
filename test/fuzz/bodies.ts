// Sends invalid bodies to an API server, in every encoding and as every kind of patch. Each
// response must blame the client and come soon, and the server must stay unchanged.

import { stringify } from 'yaml';
import { encodeProtobuf } from '#api/machinery/codec/protobuf/index.ts';
import { messageOf } from '#api/testing/message-of.ts';
import { fuzzObject } from '#api/testing/fuzz.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import { type RawResponse, send } from '#apiserver/testing/requests.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import { SeededRandom } from '#machinery/random.ts';
import { loopUse, machineFactor } from '../security/loop-meter.ts';
import { jsonPatch, pick, wrongBytes, wrongValues } from './hostile.ts';

export interface BodiesOptions {
  readonly count: number;
  readonly seed: number | string;
  readonly progress?: (sent: number) => void;
}

export interface BodiesResult {
  /** The number of responses by code. */
  readonly codes: ReadonlyMap<number, number>;
  /** The longest turn of the event loop. */
  readonly slowestMs: number;
  /** The request of the longest turn. */
  readonly slowest: string;
  /** Problems, each with everything that is needed to reproduce it. Empty: none. */
  readonly problems: readonly string[];
}

interface Shot {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly type: string;
  readonly body: Uint8Array;
}

/** The limit of a turn of the event loop, on the machine that budgets are for. */
const LONGEST_TURN_MS = 50;
const ATTEMPTS = 3;
const MOST_PROBLEMS = 20;
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const ENVELOPE_MAGIC = 4;

const PATCHES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
] as const;

export async function sendBodies({ count, seed, progress }: BodiesOptions): Promise<BodiesResult> {
  const random = new SeededRandom(seed);
  const server = await startTestServer();
  const before = prototypes();
  const budgetMs = LONGEST_TURN_MS * machineFactor();
  const codes = new Map<number, number>();
  const problems: string[] = [];
  let slowestMs = 0;
  let slowest = '';
  try {
    const targets = server.server.catalog
      .snapshot()
      .publishedKinds()
      .filter(({ rest }) => rest.create !== undefined);
    for (let i = 0; i < count && problems.length < MOST_PROBLEMS; i++) {
      const shot = await aim(random, server, targets[i % targets.length]!, i);
      const { method, path, type, body } = shot;
      let answer: RawResponse | undefined;
      let ms = Infinity;
      // A slow request is sent again: code may not have been compiled yet, and other processes use
      // this machine, too.
      for (let attempt = 0; attempt < ATTEMPTS && ms > budgetMs; attempt++) {
        const { longestTurnMs } = await loopUse(async () => {
          const latest = await send(server.server, {
            method,
            path,
            body,
            headers: { 'content-type': type },
          });
          answer ??= latest;
        });
        ms = Math.min(ms, longestTurnMs);
      }
      const { code, text } = answer as unknown as RawResponse;
      if (ms > slowestMs)
        [slowestMs, slowest] = [
          ms,
          described(shot, `was answered with ${code}, with a turn of ${ms.toFixed(0)} ms`),
        ];
      codes.set(code, (codes.get(code) ?? 0) + 1);
      if (code >= 500)
        problems.push(described(shot, `was answered with ${code}: ${text.slice(0, 500)}`));
      if (ms > budgetMs)
        problems.push(described(shot, `occupied the event loop for ${ms.toFixed(0)} ms`));
      if (i % 1000 === 999) progress?.(i + 1);
    }
    for (const error of server.logger.errors) problems.push(`the server logged an error: ${error}`);
    const { code } = await send(server.server, { path: '/api/v1/namespaces/default' });
    if (code !== 200) problems.push(`afterwards the namespace default was answered with ${code}`);
  } finally {
    await server.stop();
  }
  const after = prototypes();
  if (after !== before) problems.push(`prototypes were changed: ${before} became ${after}`);
  return { codes, slowestMs, slowest, problems };
}

/**
 * Returns one wrong request about a resource: create, replace, delete, or a patch of an existing
 * object.
 */
async function aim(
  random: SeededRandom,
  server: TestServer,
  { type }: Kind,
  serial: number,
): Promise<Shot> {
  const { group, version, resource, kind, namespaced } = type;
  const apiVersion = group === '' ? version : `${group}/${version}`;
  const collection =
    `${group === '' ? '/api' : `/apis/${group}`}/${version}` +
    `${namespaced ? '/namespaces/default' : ''}/${resource}`;
  const message = messageOf(apiVersion, kind);
  if (message === undefined) throw new Error(`the schema has no ${apiVersion} ${kind}`);
  const name = `x${serial}`;
  const filled = fuzzObject(message, random, { presence: 0.3, maxItems: 2, maxDepth: 6 });
  const object = {
    ...filled,
    apiVersion,
    kind,
    ...('metadata' in filled && {
      metadata: { name, labels: { a: 'b' }, annotations: { c: 'd' } },
    }),
  };
  const query = pick(random, ['', '?fieldValidation=Strict', '?dryRun=All', '?fieldManager=fuzz']);
  const encoded = encodings(random, message, object);
  const choice = random.int(5);
  if (choice === 0) return { method: 'PUT', path: `${collection}/${name}${query}`, ...encoded };
  if (choice === 1) {
    const options = wrongValues(random, {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      preconditions: { uid: 'u' },
      gracePeriodSeconds: 0,
    });
    return {
      method: 'DELETE',
      path: `${collection}/${name}${query}`,
      type: 'application/json',
      body: Buffer.from(options),
    };
  }
  if (choice === 2) return patch(random, await patched(server, random), object);
  return { method: 'POST', path: `${collection}${query}`, ...encoded };
}

function encodings(
  random: SeededRandom,
  message: Parameters<typeof encodeProtobuf>[0],
  object: Record<string, unknown>,
): Pick<Shot, 'type' | 'body'> {
  switch (random.int(4)) {
    case 0:
      return { type: 'application/json', body: Buffer.from(wrongValues(random, object)) };
    case 1:
      return {
        type: 'application/json',
        body: wrongBytes(random, Buffer.from(JSON.stringify(object))),
      };
    case 2:
      return { type: 'application/yaml', body: wrongBytes(random, Buffer.from(stringify(object))) };
    default:
      return {
        type: PROTOBUF,
        body: wrongBytes(random, encodeProtobuf(message, object), ENVELOPE_MAGIC),
      };
  }
}

interface Existing {
  readonly path: string;
  readonly object: unknown;
}

const CONTAINERS = [
  { name: 'a', image: 'b', ports: [{ containerPort: 80 }], env: [{ name: 'X', value: 'y' }] },
];
const LABELS = { a: 'b' };
const SUBJECTS: readonly {
  readonly collection: string;
  readonly object: {
    readonly metadata: { readonly name: string };
    readonly [field: string]: unknown;
  };
}[] = [
  {
    collection: '/api/v1/namespaces/default/configmaps',
    object: { metadata: { name: 'a' }, data: { k: 'v' } },
  },
  {
    collection: '/api/v1/namespaces/default/pods',
    object: { metadata: { name: 'a' }, spec: { containers: CONTAINERS } },
  },
  {
    collection: '/apis/apps/v1/namespaces/default/replicasets',
    object: {
      metadata: { name: 'a' },
      spec: {
        selector: { matchLabels: LABELS },
        template: {
          metadata: { labels: LABELS },
          spec: { containers: CONTAINERS, volumes: [{ name: 'v', emptyDir: {} }] },
        },
      },
    },
  },
  {
    collection: '/api/v1/namespaces/default/services',
    object: { metadata: { name: 'a' }, spec: { ports: [{ port: 80 }], selector: LABELS } },
  },
  {
    collection: '/api/v1/nodes',
    object: { metadata: { name: 'a' }, spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } },
  },
];

/**
 * Returns an existing object in its current state. An object that a patch has removed is created
 * again.
 */
async function patched({ server }: TestServer, random: SeededRandom): Promise<Existing> {
  const { collection, object } = pick(random, SUBJECTS);
  const path = `${collection}/${object.metadata.name}`;
  const found = await send(server, { path });
  if (found.code === 200) return { path, object: found.json };
  const created = await send(server, {
    method: 'POST',
    path: collection,
    body: object,
    headers: { 'content-type': 'application/json' },
  });
  if (created.code !== 201) throw new Error(`${collection}: ${created.text}`);
  return { path, object: created.json };
}

function patch(
  random: SeededRandom,
  { path, object }: Existing,
  other: Record<string, unknown>,
): Shot {
  const type = pick(random, PATCHES);
  const sub = pick(random, ['', '', '', '/status']);
  const shot = (body: string | Uint8Array): Shot => ({
    method: 'PATCH',
    path: `${path}${sub}${type === 'application/apply-patch+yaml' ? '?fieldManager=fuzz&force=true' : ''}`,
    type,
    body: Buffer.from(body),
  });
  if (random.int(4) === 0) return shot(wrongBytes(random, Buffer.from(JSON.stringify(object))));
  if (type === 'application/json-patch+json') return shot(jsonPatch(random, object));
  // The body is an object of another kind under this kind's names, or the existing object with
  // wrong values.
  return shot(
    random.int(3) === 0 ? JSON.stringify({ ...other, metadata: {} }) : wrongValues(random, object),
  );
}

function described({ method, path, type, body }: Shot, problem: string): string {
  return (
    `${method} ${path} (${type}) ${problem}\n` +
    `  body, base64: ${Buffer.from(body).toString('base64').slice(0, 4000)}`
  );
}

/** Returns the members of the prototypes of all objects. */
function prototypes(): string {
  return [Object.prototype, Array.prototype, Function.prototype, String.prototype]
    .map((prototype) => Reflect.ownKeys(prototype).map(String).sort().join(' '))
    .join(' | ');
}
