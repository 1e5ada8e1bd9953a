// Records the CSI drivers of this node in the API: in its CSINode, and on its Node in the labels of
// the drivers' topology and an annotation with the node's name in each driver.

import { nodes } from '#api/groups/core/v1/index.ts';
import { type CSINode, csiNodes, type CSINodeDriver } from '#api/groups/storage/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Node } from '../../types.ts';

export interface DriverNodeInfo {
  /** The node's name as the driver knows it. */
  readonly nodeId: string;
  /** The number of volumes that the node can have; 0 for any. */
  readonly maxVolumes: number;
  /** Labels of the node. */
  readonly topology: Readonly<Record<string, string>>;
}

export interface NodeInfoConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly nodeName: string;
  readonly signal: AbortSignal;
}

type ReadCsiNode = Immutable<CSINode>;

const NODE_ID_ANNOTATION = 'csi.volume.kubernetes.io/nodeid';
const MIGRATED_ANNOTATION = 'storage.alpha.kubernetes.io/migrated-plugins';
/** The volume types of other providers, which are left to their CSI drivers. */
const MIGRATED = [
  'kubernetes.io/aws-ebs',
  'kubernetes.io/azure-disk',
  'kubernetes.io/azure-file',
  'kubernetes.io/cinder',
  'kubernetes.io/gce-pd',
  'kubernetes.io/portworx-volume',
  'kubernetes.io/vsphere-volume',
].join(',');
const MAX_INT32 = 2 ** 31 - 1;
const ATTEMPTS = 6;
const FIRST_RETRY_MS = 10;

export class CsiNodeInfo {
  readonly #config: NodeInfoConfig;
  /** Changes of the objects, one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(config: NodeInfoConfig) {
    this.#config = config;
  }

  /** Creates the CSINode if it does not exist. Retries; rejects if it cannot be written. */
  async initialize(): Promise<void> {
    await this.#retry('error updating CSINode annotation', async () => {
      const object = await this.#owned();
      if (object.metadata.annotations?.[MIGRATED_ANNOTATION] === MIGRATED) return;
      await this.#write(object, object.spec.drivers ?? []);
    });
  }

  async install(driver: string, info: DriverNodeInfo): Promise<void> {
    if (info.nodeId === '')
      throw new Error('error adding CSI driver node info: driverNodeID must not be empty');
    await this.#retry(
      'error updating Node object with CSI driver node info: error updating node',
      () => this.#changeNode((node) => withDriver(node, driver, info)),
    );
    await this.#retry(
      'error updating CSINode object with CSI driver node info: error updating CSINode',
      async () => {
        const object = await this.#owned();
        const present = object.spec.drivers ?? [];
        const entry = driverEntry(driver, info);
        if (present.some((each) => sameDriver(each, entry))) return;
        await this.#write(object, [...present.filter(({ name }) => name !== driver), entry]);
      },
    );
  }

  async uninstall(driver: string): Promise<void> {
    await this.#retry('error uninstalling CSI driver from CSINode object', async () => {
      const object = await this.#find();
      const present = object?.spec.drivers ?? [];
      if (object === undefined || !present.some(({ name }) => name === driver)) return;
      await this.#write(
        object,
        present.filter(({ name }) => name !== driver),
      );
    });
    await this.#retry('error removing CSI driver node info from Node object', () =>
      this.#changeNode((node) => withoutDriver(node, driver)),
    );
  }

  async #changeNode(change: (node: Node) => object | undefined): Promise<void> {
    const { client, nodeName, signal } = this.#config;
    const node = await client.resource(nodes).get(nodeName, { signal });
    const metadata = change(node);
    if (metadata === undefined) return;
    const { resourceVersion } = node.metadata;
    await client
      .resource(nodes)
      .patch(
        nodeName,
        'application/merge-patch+json',
        { metadata: { ...metadata, resourceVersion } },
        { signal },
      );
  }

  async #find(): Promise<ReadCsiNode | undefined> {
    const { client, nodeName, signal } = this.#config;
    return apierrors.unlessMissing(client.resource(csiNodes).get(nodeName, { signal }));
  }

  /** Returns the CSINode of this Node; creates it. One of an earlier Node is deleted first. */
  async #owned(): Promise<ReadCsiNode> {
    const { client, nodeName, signal } = this.#config;
    const { uid } = (await client.resource(nodes).get(nodeName, { signal })).metadata;
    const present = await this.#find();
    const owner = { apiVersion: 'v1', kind: 'Node', name: nodeName, uid };
    if (present !== undefined) {
      const owns = present.metadata.ownerReferences?.some(
        (reference) => reference.kind === 'Node' && reference.uid === uid,
      );
      if (owns === true) return present;
      await client.resource(csiNodes).delete(nodeName, {
        signal,
        preconditions: { uid: present.metadata.uid },
      });
    }
    return await client.resource(csiNodes).create(
      {
        metadata: {
          name: nodeName,
          ownerReferences: [owner],
          annotations: { [MIGRATED_ANNOTATION]: MIGRATED },
        },
        spec: { drivers: [] },
      },
      { signal },
    );
  }

  async #write(object: ReadCsiNode, drivers: readonly Immutable<CSINodeDriver>[]): Promise<void> {
    const { client, signal } = this.#config;
    await client.resource(csiNodes).update(
      {
        ...object,
        metadata: {
          ...object.metadata,
          annotations: { ...object.metadata.annotations, [MIGRATED_ANNOTATION]: MIGRATED },
        },
        spec: { ...object.spec, drivers },
      },
      { signal },
    );
  }

  /** Runs the change after earlier ones, several times if it fails (a conflict, for example). */
  #retry(what: string, change: () => Promise<void>): Promise<void> {
    const attempt = async (): Promise<void> => {
      const { clock, signal } = this.#config;
      for (let count = 1; ; count++) {
        try {
          return await change();
        } catch (error) {
          signal.throwIfAborted();
          if (count === ATTEMPTS)
            throw new Error(`${what}: ${errorMessage(error)}`, { cause: error });
        }
        await clock.sleep(FIRST_RETRY_MS * 6 ** (count - 1), signal);
      }
    };
    const mine = this.#last.then(attempt, attempt);
    this.#last = mine;
    return mine;
  }
}

function driverEntry(name: string, info: DriverNodeInfo): Immutable<CSINodeDriver> {
  return {
    name,
    nodeID: info.nodeId,
    topologyKeys: Object.keys(info.topology).toSorted(),
    ...(info.maxVolumes > 0 && {
      allocatable: { count: Math.min(info.maxVolumes, MAX_INT32) },
    }),
  };
}

function sameDriver(a: Immutable<CSINodeDriver>, b: Immutable<CSINodeDriver>): boolean {
  return (
    a.name === b.name &&
    a.nodeID === b.nodeID &&
    a.allocatable?.count === b.allocatable?.count &&
    [...(a.topologyKeys ?? [])].toSorted().join() === (b.topologyKeys ?? []).join()
  );
}

/** Returns the change of the Node's metadata; undefined if it has everything already. */
function withDriver(node: Node, driver: string, info: DriverNodeInfo): object | undefined {
  const labels = Object.entries(info.topology).filter(([key, value]) => {
    const present = ownValue(node.metadata.labels ?? {}, key);
    if (present !== undefined && present !== value) {
      throw new Error(
        `detected topology value collision: driver reported "${key}":"${value}" ` +
          `but existing label is "${key}":"${present}"`,
      );
    }
    return present === undefined;
  });
  const ids = nodeIds(node);
  if (ids[driver] === info.nodeId && labels.length === 0) return undefined;
  const annotation = JSON.stringify(sorted({ ...ids, [driver]: info.nodeId }));
  return {
    labels: Object.fromEntries(labels),
    annotations: { [NODE_ID_ANNOTATION]: annotation },
  };
}

function withoutDriver(node: Node, driver: string): object | undefined {
  const { [driver]: present, ...rest } = nodeIds(node);
  if (present === undefined) return undefined;
  const left = Object.keys(rest).length === 0 ? null : JSON.stringify(sorted(rest));
  return { annotations: { [NODE_ID_ANNOTATION]: left } };
}

function nodeIds(node: Node): Readonly<Record<string, string>> {
  const text = node.metadata.annotations?.[NODE_ID_ANNOTATION];
  if (text === undefined || text === '') return {};
  try {
    return { ...(JSON.parse(text) as Record<string, string>) };
  } catch (error) {
    throw new Error(
      `failed to parse node's "${NODE_ID_ANNOTATION}" annotation value (${JSON.stringify(text)})`,
      { cause: error },
    );
  }
}

function sorted(record: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
