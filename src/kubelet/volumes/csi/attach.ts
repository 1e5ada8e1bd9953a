// Waits until a volume is attached to this node. The order matters: a volume is first reported as in
// use, then the Node's status is read. So the controller that detaches volumes either sees that the
// volume is in use, or the kubelet sees that it is no longer attached.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { VolumeAttachment } from '#api/groups/storage/v1/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import {
  AttachLimitError,
  CsiOperationError,
  UnattachedError,
  type CsiHost,
  type CsiVolume,
} from './host.ts';
import { attachmentName, uniqueVolumeName } from './names.ts';

/** How long a pod waits before an event says that its volumes are not attached. */
const ATTACH_TIMEOUT_MS = 123_000;
const FIRST_POLL_MS = 100;
const MAX_POLL_MS = 5_000;

type WaitHost = Pick<
  CsiHost,
  'clock' | 'nodeName' | 'nodeVolumes' | 'attachment' | 'driverObject' | 'onAttachLimit' | 'logger'
>;

/** The gRPC code of an exhausted resource. */
const RESOURCE_EXHAUSTED = 8;

/**
 * Resolves with the attachment's metadata. Rejects with UnattachedError after two minutes, or with
 * the reason of a failed attachment. The volume must be among those in use already.
 */
export async function waitForAttachment(
  host: WaitHost,
  volume: CsiVolume,
  signal: AbortSignal | undefined,
): Promise<Readonly<Record<string, string>>> {
  const { clock, nodeName } = host;
  const name = uniqueVolumeName(volume.driver, volume.handle);
  const deadline = clock.monotonic() + ATTACH_TIMEOUT_MS;
  const isAttached = (): boolean => {
    const { inUse, attached } = host.nodeVolumes();
    return inUse.includes(name) && attached.includes(name);
  };
  const id = attachmentName(volume.handle, volume.driver, nodeName);
  for (let pollMs = FIRST_POLL_MS; !isAttached(); pollMs = Math.min(pollMs * 2, MAX_POLL_MS)) {
    if (clock.monotonic() >= deadline) {
      const message = 'context deadline exceeded';
      throw (await isLimitExceeded(host, volume, id))
        ? new AttachLimitError(message)
        : new UnattachedError(message);
    }
    await clock.sleep(pollMs, signal);
  }
  const failed = (message: string, cause?: unknown): CsiOperationError =>
    new CsiOperationError(`${prefix(volume)}.WaitForAttach failed`, message, { cause });
  let attachment: Immutable<VolumeAttachment>;
  try {
    attachment = await host.attachment(id);
  } catch (error) {
    const what = `volume ${volume.handle} has GET error for volume attachment ${id}`;
    throw failed(`${what}: ${errorMessage(error)}`, error);
  }
  const { status } = attachment;
  if (attachment.metadata.deletionTimestamp !== undefined)
    throw failed('volume attachment is being deleted');
  if (!status.attached) {
    throw failed(
      status.attachError?.message ??
        `volume ${volume.handle} is not attached for volume attachment ${id}`,
    );
  }
  return status.attachmentMetadata ?? {};
}

/**
 * Reports whether the volume cannot be attached because the node has too many. Only drivers that
 * update the number of volumes that nodes can have are considered.
 */
async function isLimitExceeded(
  { attachment, driverObject, onAttachLimit, logger }: WaitHost,
  { driver }: CsiVolume,
  id: string,
): Promise<boolean> {
  if (!driverObject(driver)?.spec.nodeAllocatableUpdatePeriodSeconds) return false;
  try {
    const { status } = await attachment(id);
    if (status.attachError?.errorCode !== RESOURCE_EXHAUSTED) return false;
  } catch (error) {
    logger.error('failed to get volume attachment', { attachment: id, err: error });
    return false;
  }
  onAttachLimit(driver);
  return true;
}

/** Returns how names of operations begin. */
function prefix({ isBlock }: CsiVolume): string {
  return isBlock ? 'MapVolume' : 'MountVolume';
}
