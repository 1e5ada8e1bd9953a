// Makes the data directory of a large cluster from that of a small one, in seconds: what 150,000
// pods would leave behind, without creating 150,000 pods. The stored objects and the records of
// simulated containers of one small Deployment are repeated with other names, UIDs and addresses.

import { closeSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { decodeFromStorage } from '#api/machinery/codec/index.ts';
import {
  defaultPodRange,
  nodeRanges,
  parsePodRange,
  type PodRange,
} from '#cluster/flags/network-ranges.ts';
import { TTL_ANNOTATION, ttlOf } from '#controllers/ttl/ttl-controller.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { MAX_KUBELET_PORTS } from '#cluster/nodes/kubelet-ports.ts';
import { formatIp, parseCidr } from '#machinery/net/ip.ts';
import { systemRandom } from '#machinery/random.ts';
import type { KeyValue } from '#storage/interface.ts';
import type { PendingWrite } from '#storage/mvcc/commit-log.ts';
import { openEmbeddedEngine } from '#storage/embedded/index.ts';
import { LogDatabase } from '#storage/embedded/log-database.ts';
import { RecordWriter, sealRecords } from '#storage/embedded/record.ts';
import { REPLICAS } from '../scale/load.ts';
import { type Replacements, StoredTemplate, TextTemplate } from './text-template.ts';

export interface GrownSize {
  readonly nodes: number;
  readonly pods: number;
}

/** The node of the small cluster whose objects and pods are repeated. */
const NODE = 'simulated-2';
/** The nodes of the small cluster: the machine's own, the repeated one, and another one. */
export const SMALL_NODES = 3;
const DEPLOYMENT = 'scale-0';
/** As upstream: nodes were called minions. */
const NODE_KEY = '/registry/minions/';
const POD_KEY = '/registry/pods/default/';
/** The ports of copied nodes begin here. */
const FIRST_PORT = 20_000;
/** Bytes that are written together. */
const PIECE_BYTES = 4 * 1024 * 1024;
const REPORTED_PODS = 100_000;

interface PodTemplate {
  readonly object: StoredTemplate;
  readonly name: string;
  readonly uid: string;
  readonly ip: string;
  /** The lines of the journal for its sandbox and its container. */
  readonly lines: TextTemplate;
  /** The IDs of its sandbox and its container in the runtime. */
  readonly ids: readonly string[];
}

/** Returns the range of pods of a cluster of so many nodes. */
export function podRangeOf(nodes: number): PodRange {
  return parsePodRange('--pod-cidr', defaultPodRange(nodes).cidr);
}

/**
 * Grows the state in a data directory, which a cluster of SMALL_NODES nodes with the Deployment
 * `scale-0` of pods has left. Pods are spread evenly over all simulated nodes. `onProgress` is
 * called from time to time with the number of pods so far.
 */
export async function growState(
  dataDir: string,
  size: GrownSize,
  onProgress: (pods: number) => void,
): Promise<void> {
  const store = join(dataDir, 'store');
  const small = await snapshotOf(store);
  const journal = new JournalCopy(join(dataDir, 'simulated', 'nodes.jsonl'));
  const objects = await StoreCopy.open(`${store}.new`);
  for (const write of small)
    if (!isOwner(write.key) && !isTransient(write.key)) objects.keep(write);
  const items = small.flatMap(({ kv }) => (kv === undefined ? [] : [kv]));
  addNodes(items, size, objects);
  addPods(items, size, { objects, journal, onProgress });
  journal.finish();
  objects.finish();
  rmSync(store, { recursive: true });
  renameSync(`${store}.new`, store);
}

/** Returns the newest write of each key, in order of revision. */
async function snapshotOf(dataDir: string): Promise<readonly PendingWrite[]> {
  const engine = await openEmbeddedEngine({ clock: systemClock, logger: silentLogger, dataDir });
  try {
    return engine.snapshot().writes;
  } finally {
    await engine.close();
  }
}

/** Adds a copy of the repeated node for each further node. */
function addNodes(items: readonly KeyValue[], { nodes }: GrownSize, objects: StoreCopy): void {
  const range = podRangeOf(nodes);
  const ofNode = items.filter(({ key }) => key.endsWith(`/${NODE}`));
  const cidr = nodeRanges(range, 1)[0];
  const uids = ofNode.map(uidOf);
  const port = endpointText(kubeletPortOf(items));
  const ttl = ttlText(ttlOf(SMALL_NODES));
  const templates = ofNode.map(
    ({ key, value }) => new StoredTemplate(key, value, [NODE, cidr, port, ttl, ...uids]),
  );
  for (let i = SMALL_NODES; i < nodes; i++) {
    const replacements: Replacements = new Map([
      [NODE, `simulated-${i + 1}`],
      [cidr, nodeRanges(range, i)[0]],
      // A kubelet keeps the port that its node had.
      [port, endpointText(i < MAX_KUBELET_PORTS ? FIRST_PORT + i : 0)],
      // Otherwise the controller writes each node once more.
      [ttl, ttlText(ttlOf(nodes))],
      ...uids.map(newUid),
    ]);
    for (const template of templates) objects.add(template.render(replacements));
  }
}

/** Returns the port in the status of the repeated node. */
function kubeletPortOf(items: readonly KeyValue[]): number {
  const { value, modRevision } = items.find(({ key }) => key === `${NODE_KEY}${NODE}`)!;
  const { status } = decodeFromStorage<{
    readonly status: { readonly daemonEndpoints: { readonly kubeletEndpoint: { Port: number } } };
  }>(value, modRevision);
  return status.daemonEndpoints.kubeletEndpoint.Port;
}

const ttlText = (seconds: string): string => `"${TTL_ANNOTATION}":"${seconds}"`;
const endpointText = (port: number): string => `"kubeletEndpoint":{"Port":${port}}`;

/** Where copies of pods are added. */
interface PodCopies {
  readonly objects: StoreCopy;
  readonly journal: JournalCopy;
  readonly onProgress: (pods: number) => void;
}

function addPods(
  items: readonly KeyValue[],
  size: GrownSize,
  { objects, journal, onProgress }: PodCopies,
): void {
  const owners = items.filter(({ key }) => isOwner(key));
  const uids = owners.map(uidOf);
  const common = [`"${DEPLOYMENT}"`, `${DEPLOYMENT}-`, ...uids];
  const ownerTemplates = owners.map(
    ({ key, value }) => new StoredTemplate(key, value, [`/${DEPLOYMENT}`, ...common]),
  );
  const template = podTemplate(items, journal.lines, common);
  const range = podRangeOf(size.nodes);
  for (let first = 0; first < size.pods; first += REPLICAS) {
    const name = `scale-${first / REPLICAS}`;
    const replacements: (readonly [string, string])[] = [
      [`"${DEPLOYMENT}"`, `"${name}"`],
      [`${DEPLOYMENT}-`, `${name}-`],
      ...uids.map(newUid),
    ];
    const ofOwners = new Map([[`/${DEPLOYMENT}`, `/${name}`], ...replacements]);
    for (const owner of ownerTemplates) objects.add(owner.render(ofOwners));
    const end = Math.min(first + REPLICAS, size.pods);
    for (let number = first; number < end; number++) {
      const prefix = `${name}${template.name.slice(DEPLOYMENT.length, -5)}`;
      const ofPod = new Map([
        ...replacements,
        [template.name, `${prefix}${number.toString(36).padStart(5, '0')}`],
        ...replacementsOf(template, number, size, range),
      ]);
      journal.add(template.lines.render(ofPod));
      objects.add(template.object.render(ofPod));
      if ((number + 1) % REPORTED_PODS === 0) onProgress(number + 1);
    }
  }
}

/** Returns the replacements for a pod, beside that of its name. */
function replacementsOf(
  { uid, ip, ids }: PodTemplate,
  number: number,
  { nodes }: GrownSize,
  range: PodRange,
): (readonly [string, string])[] {
  const simulated = nodes - 1;
  const node = number % simulated;
  const { family, first } = parseCidr(nodeRanges(range, node + 1)[0])!;
  const address = first + 2n + BigInt(Math.floor(number / simulated));
  const text = formatIp({ family, value: address });
  return [
    newUid(uid),
    [`"${ip}"`, `"${text}"`],
    [`\\"${ip}\\"`, `\\"${text}\\"`],
    [NODE, `simulated-${node + 2}`],
    ...ids.map((id) => [id, randomId()] as const),
  ];
}

/** `common`: the pieces of its owners that are replaced. */
function podTemplate(
  items: readonly KeyValue[],
  lines: readonly string[],
  common: readonly string[],
): PodTemplate {
  for (const { key, value, modRevision } of items) {
    if (!key.startsWith(`${POD_KEY}${DEPLOYMENT}-`)) continue;
    const { metadata, spec, status } = decodeFromStorage<{
      readonly metadata: { readonly name: string; readonly uid: string };
      readonly spec: { readonly nodeName?: string };
      readonly status: { readonly podIP?: string };
    }>(value, modRevision);
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
    const ip = status.podIP;
    const pieces = [name, uid, `"${ip}"`, `\\"${ip}\\"`, NODE, ...ids, ...common];
    const object = new StoredTemplate(key, value, pieces);
    const text = own.map((line) => `${line}\n`).join('');
    return { object, name, uid, ip, lines: new TextTemplate(text, pieces), ids };
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

/** Reports whether the key is that of the Deployment or its ReplicaSet. */
function isOwner(key: string): boolean {
  return /^\/registry\/(?:deployments|replicasets)\/default\/scale-0(?:-|$)/.test(key);
}

/** Reports whether the key is that of an event, or a pod of the Deployment. */
function isTransient(key: string): boolean {
  return key.startsWith('/registry/events/') || key.startsWith(`${POD_KEY}${DEPLOYMENT}-`);
}

function uidOf({ value, modRevision }: KeyValue): string {
  return decodeFromStorage<{ metadata: { uid: string } }>(value, modRevision).metadata.uid;
}

function newUid(uid: string): readonly [string, string] {
  return [uid, systemRandom.uuid()];
}

function randomId(): string {
  return `${systemRandom.uuid()}${systemRandom.uuid()}`.replaceAll('-', '');
}

/** A store that is written from the beginning, without a state in memory. */
class StoreCopy {
  readonly #database: LogDatabase;
  readonly #restoring: ReturnType<LogDatabase['restore']>;
  #writer = new RecordWriter(PIECE_BYTES);
  #revision = 1;

  static async open(dataDir: string): Promise<StoreCopy> {
    return new StoreCopy(await LogDatabase.open({ dataDir, maxBytes: undefined }));
  }

  private constructor(database: LogDatabase) {
    this.#database = database;
    this.#restoring = database.restore();
  }

  /** Adds a write of another store. They come first, in order of revision. */
  keep(write: PendingWrite): void {
    this.#revision = write.revision;
    this.#write(write);
  }

  add({ key, value }: { readonly key: string; readonly value: Uint8Array }): void {
    const revision = ++this.#revision;
    const kv = { key, value, createRevision: revision, modRevision: revision };
    this.#write({ key, revision, kv, expiresAt: undefined });
  }

  finish(): void {
    this.#flush();
    this.#restoring.finish(this.#revision);
    this.#database.close();
  }

  #write(write: PendingWrite): void {
    this.#writer.add(write);
    if (this.#writer.length > PIECE_BYTES) this.#flush();
  }

  #flush(): void {
    for (const { revision, record } of sealRecords(this.#writer.finish()))
      this.#restoring.add(revision, record);
    this.#writer = new RecordWriter(PIECE_BYTES);
  }
}

/** A journal of simulated containers that replaces another one. */
class JournalCopy {
  /** The lines of the other one. */
  readonly lines: readonly string[];
  readonly #path: string;
  readonly #file: number;
  #texts: string[] = [];
  #length = 0;

  constructor(path: string) {
    this.lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    this.#path = path;
    this.#file = openSync(`${path}.new`, 'w', 0o600);
  }

  /** Adds complete lines. */
  add(lines: string): void {
    this.#texts.push(lines);
    this.#length += lines.length;
    if (this.#length > PIECE_BYTES) this.#flush();
  }

  finish(): void {
    this.#flush();
    closeSync(this.#file);
    renameSync(`${this.#path}.new`, this.#path);
  }

  #flush(): void {
    writeSync(this.#file, this.#texts.join(''));
    this.#texts = [];
    this.#length = 0;
  }
}
