// Mounts a CSI volume with a file system for a pod: stages it once for the node, publishes it for the
// pod. Records in files what it is about to do before each call, so that a crash, or a driver whose
// answer never comes, leaves nothing that is not undone later.

import { mkdir } from 'node:fs/promises';
import { isFinalError } from '#csi/final-error.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { podUid, type Pod } from '../../types.ts';
import { belongsToGroup, setVolumeGroup } from '../ownership.ts';
import { changesGroup, checkLifecycleMode } from './driver-policy.ts';
import { CsiOperationError, type CsiHost, type CsiVolume, type MountedVolume } from './host.ts';
import {
  attachmentName,
  podVolumesDir,
  publishPath,
  safeName,
  stagedVolumeDir,
  stagingPath,
} from './names.ts';
import type { CsiNodeService, NodeCapability } from './node-client.ts';
import { removeVolumeDir } from './remove-volume-dir.ts';
import { publishInputs, secretValues, volumeCapability } from './request.ts';
import { writeVolumeData } from './volume-data.ts';

/**
 * Mounts the volume. Rejects with CsiOperationError. `publishContext`: the attachment's metadata.
 * `isRemount`: the volume is mounted already, and its content is refreshed.
 */
export async function mountVolume(
  host: CsiHost,
  pod: Pod,
  volume: CsiVolume,
  publishContext: Readonly<Record<string, string>>,
  isRemount: boolean,
): Promise<MountedVolume> {
  let service: CsiNodeService;
  let capabilities: ReadonlySet<NodeCapability>;
  let staging = '';
  const first = volume.isInline ? 'MountVolume.SetUp failed' : 'MountVolume.MountDevice failed';
  const what = volume.isInline ? 'mounter.SetUpAt' : 'attacher.MountDevice';
  try {
    service = connected(host, volume, what);
    capabilities = await service.capabilities();
    if (!volume.isInline)
      staging = await stage(host, pod, volume, service, capabilities, publishContext);
  } catch (error) {
    throw new CsiOperationError(first, errorMessage(error), { cause: error });
  }
  try {
    const path = await publish(host, pod, volume, {
      service,
      capabilities,
      publishContext,
      staging,
      isRemount,
    });
    return { path, stagingPath: staging };
  } catch (error) {
    throw new CsiOperationError('MountVolume.SetUp failed', errorMessage(error), { cause: error });
  }
}

/** Returns the volume's driver. Throws with upstream's message if it is not registered. */
export function connected(host: CsiHost, { driver }: CsiVolume, caller: string): CsiNodeService {
  try {
    return host.service(driver);
  } catch (error) {
    const step = caller.startsWith('attacher') ? 'create newCsiDriverClient' : 'get CSI client';
    throw new Error(`kubernetes.io/csi: ${caller} failed to ${step}: ${errorMessage(error)}`, {
      cause: error,
    });
  }
}

/** Stages the volume, which may be staged already. Returns the path; '' if nothing is staged. */
async function stage(
  host: CsiHost,
  pod: Pod,
  volume: CsiVolume,
  service: CsiNodeService,
  capabilities: ReadonlySet<NodeCapability>,
  publishContext: Readonly<Record<string, string>>,
): Promise<string> {
  if (!capabilities.has('STAGE_UNSTAGE_VOLUME')) return '';
  const { driver, handle } = volume;
  const secrets = await secretValues(host, 'NodeStageSecretRef', volume.stageSecret);
  const directory = stagedVolumeDir(host.rootDir, driver, handle);
  const path = stagingPath(directory);
  await writeVolumeData(directory, { driverName: driver, volumeHandle: handle });
  await mkdir(path, { recursive: true, mode: 0o750 });
  try {
    await service.stage({
      volumeId: handle,
      publishContext,
      stagingTargetPath: path,
      volumeCapability: volumeCapability(volume, capabilities, pod.spec.securityContext?.fsGroup),
      secrets,
      volumeContext: volume.attributes,
    });
  } catch (error) {
    if (isFinalError(error)) await removeVolumeDir(host.mounter, directory, path);
    throw error;
  }
  return path;
}

interface PublishSettings {
  readonly service: CsiNodeService;
  readonly capabilities: ReadonlySet<NodeCapability>;
  readonly publishContext: Readonly<Record<string, string>>;
  readonly staging: string;
  readonly isRemount: boolean;
}

async function publish(
  host: CsiHost,
  pod: Pod,
  volume: CsiVolume,
  settings: PublishSettings,
): Promise<string> {
  const { service, capabilities, publishContext, staging, isRemount } = settings;
  const driver = host.driverObject(volume.driver);
  try {
    checkLifecycleMode(driver, volume);
  } catch (error) {
    throw new Error(
      'kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: ' +
        errorMessage(error),
      { cause: error },
    );
  }
  const inputs = await publishInputs(host, pod, volume);
  const directory = `${podVolumesDir(host.rootDir, podUid(pod))}/${safeName(volume.name)}`;
  const path = publishPath(directory);
  await writeVolumeData(directory, {
    specVolID: volume.name,
    volumeHandle: volume.handle,
    driverName: volume.driver,
    nodeName: host.nodeName,
    volumeLifecycleMode: volume.isInline ? 'Ephemeral' : 'Persistent',
    attachmentID: attachmentName(volume.handle, volume.driver, host.nodeName),
  });
  const { fsGroup, fsGroupChangePolicy } = pod.spec.securityContext ?? {};
  try {
    await service.publish({
      volumeId: volume.handle,
      publishContext,
      stagingTargetPath: staging,
      targetPath: path,
      volumeCapability: volumeCapability(volume, capabilities, fsGroup),
      readonly: volume.readOnly,
      secrets: inputs.secrets,
      volumeContext: inputs.volumeContext,
    });
  } catch (error) {
    if (isFinalError(error) && !isRemount) await removeVolumeDir(host.mounter, directory, path);
    throw error;
  }
  if (
    fsGroup !== undefined &&
    !capabilities.has('VOLUME_MOUNT_GROUP') &&
    changesGroup(driver, volume)
  ) {
    try {
      const isDone =
        fsGroupChangePolicy === 'OnRootMismatch' && (await belongsToGroup(path, fsGroup, false));
      if (!isDone) await setVolumeGroup(path, fsGroup, false);
    } catch (error) {
      throw new Error(`applyFSGroup failed for vol ${volume.handle}: ${errorMessage(error)}`, {
        cause: error,
      });
    }
  }
  return path;
}
