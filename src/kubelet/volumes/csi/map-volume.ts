// Makes a CSI block volume available to a pod as a device: stages it once for the node, publishes a
// device file for the pod, and links to it from the directories where tools of nodes look.

import { mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isFinalError } from '#csi/final-error.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { podUid, type Pod } from '../../types.ts';
import { CsiOperationError, type CsiHost, type CsiVolume, type MountedVolume } from './host.ts';
import { attachmentName, blockPaths, podDevicesDir } from './names.ts';
import type { NodeCapability } from './node-client.ts';
import { connected } from './mount-volume.ts';
import { removeVolumeDir } from './remove-volume-dir.ts';
import { publishInputs, secretValues, volumeCapability } from './request.ts';
import { writeVolumeData } from './volume-data.ts';

/** Returns the path of the device file. Rejects with CsiOperationError. */
export async function mapVolume(
  host: CsiHost,
  pod: Pod,
  volume: CsiVolume,
  publishContext: Readonly<Record<string, string>>,
): Promise<MountedVolume> {
  const uid = podUid(pod);
  const paths = blockPaths(host.rootDir, volume.name);
  let capabilities: ReadonlySet<NodeCapability>;
  let staging = '';
  try {
    const service = connected(host, volume, 'blockMapper.SetUpDevice');
    await writeVolumeData(paths.data, {
      specVolID: volume.name,
      volumeHandle: volume.handle,
      driverName: volume.driver,
      nodeName: host.nodeName,
      attachmentID: attachmentName(volume.handle, volume.driver, host.nodeName),
    });
    capabilities = await service.capabilities();
    if (capabilities.has('STAGE_UNSTAGE_VOLUME')) {
      const secrets = await secretValues(host, 'NodeStageSecretRef', volume.stageSecret);
      await mkdir(paths.staging, { recursive: true, mode: 0o750 });
      await service.stage({
        volumeId: volume.handle,
        publishContext,
        stagingTargetPath: paths.staging,
        volumeCapability: volumeCapability(volume, capabilities, undefined),
        secrets,
        volumeContext: volume.attributes,
      });
      staging = paths.staging;
    }
  } catch (error) {
    throw new CsiOperationError('MapVolume.SetUpDevice failed', errorMessage(error), {
      cause: error,
    });
  }
  try {
    const service = connected(host, volume, 'blockMapper.MapPodDevice');
    const inputs = await publishInputs(host, pod, volume);
    const device = join(paths.publishDir, uid);
    await mkdir(paths.publishDir, { recursive: true, mode: 0o750 });
    const links = [
      join(paths.data, '..', 'dev', uid),
      join(podDevicesDir(host.rootDir, uid), volume.name),
    ];
    for (const link of links) {
      await mkdir(join(link, '..'), { recursive: true, mode: 0o750 });
      await rm(link, { force: true });
      await symlink(device, link);
    }
    try {
      await service.publish({
        volumeId: volume.handle,
        publishContext,
        // As upstream: the path is given also if the driver does not stage.
        stagingTargetPath: paths.staging,
        targetPath: device,
        volumeCapability: volumeCapability(volume, capabilities, undefined),
        readonly: volume.readOnly,
        secrets: inputs.secrets,
        volumeContext: inputs.volumeContext,
      });
    } catch (error) {
      if (isFinalError(error)) for (const link of links) await rm(link, { force: true });
      throw error;
    }
    return { path: device, stagingPath: staging };
  } catch (error) {
    throw new CsiOperationError('MapVolume.MapPodDevice failed', errorMessage(error), {
      cause: error,
    });
  }
}

/** Withdraws a pod's device. Idempotent. */
export async function unmapVolume(
  host: CsiHost,
  volume: { readonly name: string; readonly driver: string; readonly handle: string },
  uid: string,
): Promise<void> {
  const paths = blockPaths(host.rootDir, volume.name);
  const device = join(paths.publishDir, uid);
  await host.service(volume.driver).unpublish(volume.handle, device);
  await removeVolumeDir(host.mounter, paths.publishDir, device).catch((error: unknown) => {
    // The devices of other pods are in the directory.
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
  });
  await rm(join(podDevicesDir(host.rootDir, uid), volume.name), { force: true });
  await rm(join(paths.data, '..', 'dev', uid), { force: true });
}
