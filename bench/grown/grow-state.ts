// Makes the data directory of a large cluster from that of a small one, in seconds: what 150,000
// pods would leave behind, without creating 150,000 pods. The stored objects and the records of
// simulated containers of one small Deployment are repeated with other names, UIDs and addresses.

import { once } from 'node:events';
import { createReadStream, createWriteStream, renameSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { encodeForStorage, decodeFromStorage } from '#api/machinery/codec/index.ts';
import {
  defaultPodRange,
  nodeRanges,
  parsePodRange,
  type PodRange,
} from '#cluster/network-ranges.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { formatIp, parseCidr } from '#machinery/net/ip.ts';
import { systemRandom } from '#machinery/random.ts';
import type { KeyValue, Storage } from '#storage/interface.ts';
import { openEmbeddedStorage } from '#storage/embedded/index.ts';
import { REPLICAS } from '../scale/load.ts';

export interface GrownSize {
  readonly nodes: number;
  readonly pods: number;
}

/** The node of the small cluster whose objects and pods are repeated. */
const NODE = 'simulated-2';
/** The nodes of the small cluster: the machine's own, the repeated one, and another one. */
export const SMALL_NODES = 3;
const DEPLOYMENT = 'scale-0';
const POD_KEY = '/registry/pods/default/';
const WRITES_AT_ONCE = 500;
const DEPLOYMENTS_AT_ONCE = 200;

/** A piece of text that is replaced in the copies, and its replacement. */
type Replacements = readonly (readonly [from: string, to: string])[];

interface StoredText {
  readonly key: string;
  /** The object's JSON. */
  readonly text: string;
}

interface PodTemplate {
  readonly object: StoredText;
  readonly name: string;
  readonly uid: string;
  readonly ip: string;
  /** The lines of the journal for its sandbox and its container. */
  readonly lines: readonly string[];
  /** The IDs of its sandbox and its container in the runtime. */
  readonly ids: readonly string[];
}

/** Returns the range of pods of a cluster of so many nodes. */
export function podRangeOf(nodes: number): PodRange {
  return parsePodRange('--pod-cidr', defaultPodRange(nodes).cidr);
}

/**
 * Grows the state in a data directory, which a cluster of SMALL_NODES nodes with the Deployment
 * `scale-0` of pods has left. Pods are spread evenly over all simulated nodes.
 */
export async function growState(dataDir: string, size: GrownSize): Promise<void> {
  const journalPath = join(dataDir, 'simulated', 'nodes.jsonl');
  const storage = await openEmbeddedStorage({
    clock: systemClock,
    logger: silentLogger,
    dataDir: join(dataDir, 'store'),
  });
  try {
    const { items } = await storage.list('/registry/');
    const template = podTemplate(items, await linesOf(journalPath));
    const range = podRangeOf(size.nodes);
    const owners = items.map(textOf).filter(({ key }) => isOwner(key));
    const nodeObjects = items.map(textOf).filter(({ key }) => isOfNode(key));
    const old = items.filter(({ key }) => isOwner(key) || isTransient(key));
    await eachAtOnce(old.length, WRITES_AT_ONCE, (i) => storage.delete(old[i]!.key));

    const first = SMALL_NODES + 1;
    await eachAtOnce(size.nodes - SMALL_NODES, WRITES_AT_ONCE, async (i) => {
      const name = `simulated-${first + i}`;
      const cidr = nodeRanges(range, first + i - 1)[0];
      const replace: Replacements = [
        [NODE, name],
        [nodeRanges(range, 1)[0], cidr],
        ...uidsOf(nodeObjects).map((uid) => [uid, systemRandom.uuid()] as const),
      ];
      for (const object of nodeObjects) await write(storage, object, replace);
    });

    const deployments = Math.ceil(size.pods / REPLICAS);
    const journal = createWriteStream(`${journalPath}.new`, { mode: 0o600 });
    let draining: Promise<unknown> | undefined;
    await eachAtOnce(deployments, DEPLOYMENTS_AT_ONCE, async (d) => {
      const common: Replacements = [
        [`"${DEPLOYMENT}"`, `"scale-${d}"`],
        [`${DEPLOYMENT}-`, `scale-${d}-`],
        ...uidsOf(owners).map((uid) => [uid, systemRandom.uuid()] as const),
      ];
      for (const object of owners) await write(storage, object, common, `scale-${d}`);
      const pods = Math.min(REPLICAS, size.pods - d * REPLICAS);
      for (let i = 0; i < pods; i++) {
        const number = d * REPLICAS + i;
        const replace = [...replacementsOf(template, number, size, range), ...common];
        for (const line of template.lines) journal.write(`${replaced(line, replace)}\n`);
        await write(storage, template.object, replace);
      }
      if (journal.writableNeedDrain)
        await (draining ??= once(journal, 'drain').finally(() => (draining = undefined)));
    });
    journal.end();
    await once(journal, 'finish');
    renameSync(`${journalPath}.new`, journalPath);
    await storage.compact(await storage.currentRevision());
  } finally {
    await storage.close();
  }
}

/** Returns the replacements for a pod; the first one is that of its name. */
function replacementsOf(
  { name, uid, ip, ids }: PodTemplate,
  number: number,
  { nodes }: GrownSize,
  range: PodRange,
): [readonly [string, string], ...Replacements] {
  const simulated = nodes - 1;
  const node = number % simulated;
  const { family, first } = parseCidr(nodeRanges(range, node + 1)[0])!;
  const address = first + 2n + BigInt(Math.floor(number / simulated));
  return [
    [name, `${name.slice(0, -5)}${number.toString(36).padStart(5, '0')}`],
    [uid, systemRandom.uuid()],
    [`"${ip}"`, `"${formatIp({ family, value: address })}"`],
    [`\\"${ip}\\"`, `\\"${formatIp({ family, value: address })}\\"`],
    [NODE, `simulated-${node + 2}`],
    ...ids.map((id) => [id, randomId()] as const),
  ];
}

function podTemplate(items: readonly KeyValue[], lines: readonly string[]): PodTemplate {
  for (const kv of items) {
    if (!kv.key.startsWith(`${POD_KEY}${DEPLOYMENT}-`)) continue;
    const object = textOf(kv);
    const { metadata, spec, status } = JSON.parse(object.text) as {
      readonly metadata: { readonly name: string; readonly uid: string };
      readonly spec: { readonly nodeName?: string };
      readonly status: { readonly podIP?: string };
    };
    if (spec.nodeName !== NODE || status.podIP === undefined) continue;
    const sandbox = lines.find((line) => isLine(line, 'sandbox') && line.includes(metadata.uid));
    if (sandbox === undefined) continue;
    const sandboxId = idOf(sandbox);
    const container = lines.find(
      (line) => isLine(line, 'container') && line.includes(`"podSandboxId":"${sandboxId}"`),
    );
    if (container === undefined) continue;
    const ids = [sandboxId, idOf(container)];
    const own = lines.filter((line) => ids.some((id) => line.includes(id)));
    const { name, uid } = metadata;
    return { object, name, uid, ip: status.podIP, lines: own, ids };
  }
  throw new Error(`no pod of ${DEPLOYMENT} runs on ${NODE}`);
}

function isLine(line: string, op: string): boolean {
  return line.startsWith(`["${op}","${NODE}"`);
}

function idOf(line: string): string {
  const [, , record] = JSON.parse(line) as [string, string, { readonly id: string }];
  return record.id;
}

/** Reports whether the key is that of the Deployment, its ReplicaSet, or one of its pods. */
function isOwner(key: string): boolean {
  return /^\/registry\/(?:deployments|replicasets)\/default\/scale-0(?:-|$)/.test(key);
}

function isTransient(key: string): boolean {
  return key.startsWith('/registry/events/') || key.startsWith(`${POD_KEY}${DEPLOYMENT}-`);
}

function isOfNode(key: string): boolean {
  return key.endsWith(`/${NODE}`);
}

function textOf({ key, value, modRevision }: KeyValue): StoredText {
  const object = decodeFromStorage<{ metadata: { resourceVersion?: string } }>(value, modRevision);
  delete object.metadata.resourceVersion;
  return { key, text: JSON.stringify(object) };
}

/** Returns the UIDs of the objects themselves. */
function uidsOf(objects: readonly StoredText[]): string[] {
  return objects.map(
    ({ text }) => (JSON.parse(text) as { metadata: { uid: string } }).metadata.uid,
  );
}

function replaced(text: string, replacements: Replacements): string {
  return replacements.reduce((done, [from, to]) => done.replaceAll(from, to), text);
}

/** Writes a copy. `name`: replaces the name of the Deployment where the key ends in it. */
async function write(
  storage: Storage,
  { key, text }: StoredText,
  replacements: Replacements,
  name = DEPLOYMENT,
): Promise<void> {
  const object = JSON.parse(replaced(text, replacements)) as object;
  const copied = replaced(key, replacements).replace(new RegExp(`/${DEPLOYMENT}$`), `/${name}`);
  await storage.create(copied, encodeForStorage(object));
}

/** Calls `work` for each index below `count`, `atOnce` calls at a time. */
async function eachAtOnce(
  count: number,
  atOnce: number,
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, worker));
}

async function linesOf(path: string): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: createReadStream(path) })) lines.push(line);
  return lines;
}

function randomId(): string {
  return `${systemRandom.uuid()}${systemRandom.uuid()}`.replaceAll('-', '');
}
