// Finds the snapshot that a claim's volume is to begin with.

import type { PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { CsiInput } from '#csi/schema.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import {
  SNAPSHOT_GROUP,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from './snapshots/index.ts';

/** Returns the name of the snapshot that is the claim's data source. */
export function snapshotNameOf({ spec }: Immutable<PersistentVolumeClaim>): string | undefined {
  const source = spec.dataSourceRef ?? spec.dataSource;
  const isSnapshot = source?.kind === 'VolumeSnapshot' && source.apiGroup === SNAPSHOT_GROUP;
  return isSnapshot ? source.name : undefined;
}

/** Returns the content of the snapshot. Rejects with the reason if it cannot be used yet. */
export async function sourceContent(
  client: Client,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<Immutable<VolumeSnapshotContent>> {
  const failure = (why: string, cause?: unknown): Error =>
    new Error(
      `error getting handle for DataSource Type VolumeSnapshot by Name ${name}: ${why}`,
      cause === undefined ? undefined : { cause },
    );
  try {
    const snapshot = await client
      .resource(volumeSnapshots)
      .namespace(namespace)
      .get(name, { signal });
    if (snapshot.metadata.deletionTimestamp !== undefined)
      throw new Error(`snapshot ${name} is currently being deleted`);
    const { boundVolumeSnapshotContentName: content, readyToUse } = snapshot.status ?? {};
    if (content === undefined || readyToUse !== true)
      throw new Error(`snapshot ${name} is not Ready`);
    const found = await client.resource(volumeSnapshotContents).get(content, { signal });
    if (found.spec.volumeSnapshotRef.uid !== snapshot.metadata.uid)
      throw new Error(
        `snapshotcontent ${content} for snapshot ${namespace}/${name} is bound to a different snapshot`,
      );
    return found;
  } catch (error) {
    signal.throwIfAborted();
    throw failure(errorMessage(error), error);
  }
}

/** Returns the source for the driver. Rejects with the reason if it cannot be that of the claim. */
export async function snapshotSource(
  client: Client,
  driver: string,
  claim: Immutable<PersistentVolumeClaim>,
  name: string,
  signal: AbortSignal,
): Promise<CsiInput<'VolumeContentSource'>> {
  const { namespace = '' } = claim.metadata;
  const { spec, status } = await sourceContent(client, namespace, name, signal);
  if (spec.driver !== driver) throw new Error(`snapshot ${name} is of driver ${spec.driver}`);
  const { snapshotHandle, restoreSize } = status ?? {};
  if (snapshotHandle === undefined) throw new Error(`snapshot ${name} has no handle`);
  const requested = parseQuantity(claim.spec.resources.requests?.['storage'] ?? '0').value();
  if (restoreSize !== undefined && requested < restoreSize) {
    throw new Error(
      `requested volume size ${requested} is less than the size ${restoreSize} for the source snapshot ${name}`,
    );
  }
  return { snapshot: { snapshotId: snapshotHandle } };
}
