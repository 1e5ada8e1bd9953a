// The mounts of a container: its volumes (or parts of them), the hosts file, and the termination
// log.

import { constants } from 'node:fs';
import { chmod, mkdir, open, writeFile, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ImageSpec, Mount } from '#cri/index.ts';
import { removeTree } from '#machinery/files/directory.ts';
import { FileTypeError, openUntrusted } from '#machinery/files/untrusted.ts';
import type { Random } from '#machinery/random.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { expand } from '../env/expand.ts';
import type { Environment } from '../env/make-environment.ts';
import { hostsFile, type PodHostname } from '../hostname.ts';
import { containerDir, hostsFilePath, subpathDir } from '../paths.ts';
import { resolveRecursiveReadOnly } from '../pod/recursive-read-only.ts';
import { podUid, type Container, type Pod, type VolumeMount } from '../types.ts';
import type { Mounter } from './mounter.ts';
import { prepareSubpath } from './subpath.ts';
import type { VolumePaths } from './volume-manager.ts';

/** The images of image volumes, by the volume's name. */
export type ImageVolumes = ReadonlyMap<string, ImageSpec>;

export interface MountsInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly volumes: VolumePaths;
  readonly imageVolumes: ImageVolumes;
  readonly environment: Environment;
  readonly hostname: PodHostname;
  readonly podIPs: readonly string[];
  /** The node's own /etc/hosts, for pods in its network; undefined for others. */
  readonly nodeHosts: string | undefined;
  readonly rootDir: string;
  readonly mounter: Mounter;
  readonly random: Random;
  /** Whether the pod's runtime handler makes mounts below a mount read-only, too. */
  readonly recursiveReadOnly: boolean;
  /** False: no files are written (see KubeletConfig.hostFiles). */
  readonly hostFiles: boolean;
}

const HOSTS_PATH = '/etc/hosts';
const PROPAGATION = {
  None: 'PROPAGATION_PRIVATE',
  HostToContainer: 'PROPAGATION_HOST_TO_CONTAINER',
  Bidirectional: 'PROPAGATION_BIDIRECTIONAL',
} as const;

/** Returns the mounts. Rejects with the reason why the container cannot be created. */
export async function makeMounts(input: MountsInput): Promise<readonly Mount[]> {
  const { container } = input;
  const mounts: Mount[] = [];
  for (const [index, mount] of (container.volumeMounts ?? []).entries())
    mounts.push(await volumeMount(input, mount, index));
  const mounted = new Set(mounts.map((mount) => mount.containerPath));
  if (input.hostFiles && !mounted.has(HOSTS_PATH)) mounts.push(await hostsMount(input));
  const terminationPath = container.terminationMessagePath ?? '';
  if (input.hostFiles && terminationPath !== '' && !mounted.has(terminationPath)) {
    mounts.push({ containerPath: terminationPath, hostPath: await makeTerminationFile(input) });
  }
  return mounts;
}

async function volumeMount(input: MountsInput, mount: VolumeMount, index: number): Promise<Mount> {
  const { pod, container } = input;
  const path = input.volumes.get(mount.name);
  if (path === undefined)
    throw new Error(
      `cannot find volume "${mount.name}" to mount into container "${container.name}"`,
    );
  const propagation = mount.mountPropagation === undefined ? 'None' : mount.mountPropagation;
  let recursiveReadOnly: boolean;
  try {
    recursiveReadOnly = resolveRecursiveReadOnly(mount, input.recursiveReadOnly);
  } catch (error) {
    throw new Error(`failed to resolve recursive read-only mode: ${errorMessage(error)}`, {
      cause: error,
    });
  }
  const subPath =
    mount.subPathExpr !== undefined
      ? expandSubpath(mount.subPathExpr, input.environment)
      : (mount.subPath ?? '');
  const common = {
    containerPath: mount.mountPath.startsWith('/') ? mount.mountPath : `/${mount.mountPath}`,
    propagation: PROPAGATION[propagation],
    recursiveReadOnly,
  };
  const image = input.imageVolumes.get(mount.name);
  // The runtime mounts images itself, read-only.
  if (image !== undefined) return { ...common, image, imageSubPath: subPath, readonly: true };
  let hostPath = path;
  if (subPath !== '' && input.hostFiles) {
    try {
      hostPath = await prepareSubpath({
        volumePath: path,
        subPath,
        target: subpathDir(input.rootDir, podUid(pod), mount.name, container.name, index),
        mounter: input.mounter,
      });
    } catch (error) {
      const reason = errorMessage(error);
      throw new Error(
        `failed to prepare subPath for volumeMount "${mount.name}" of container "${container.name}": ${reason}`,
        {
          cause: error,
        },
      );
    }
  }
  return {
    ...common,
    hostPath,
    readonly: mount.readOnly === true || isReadOnlyVolume(pod, mount.name),
  };
}

/** Reports whether a volume is read-only: it contains API objects, or the pod requests it. */
function isReadOnlyVolume(pod: Pod, name: string): boolean {
  const volume = (pod.spec.volumes ?? []).find((candidate) => candidate.name === name);
  return (
    volume?.configMap !== undefined ||
    volume?.secret !== undefined ||
    volume?.downwardAPI !== undefined ||
    volume?.projected !== undefined ||
    volume?.persistentVolumeClaim?.readOnly === true
  );
}

function expandSubpath(expression: string, environment: Environment): string {
  const missing = new Set<string>();
  const expanded = expand(expression, (name) => {
    const value = environment.get(name);
    if (value === undefined) missing.add(name);
    return value;
  });
  if (missing.size > 0) throw new Error(`missing value for "${[...missing].join(', ')}"`);
  return expanded;
}

/**
 * Writes the hosts file, for each container, since the pod's addresses may have changed with its
 * sandbox.
 */
async function hostsMount(input: MountsInput): Promise<Mount> {
  const path = hostsFilePath(input.rootDir, podUid(input.pod));
  await mkdir(dirname(path), { recursive: true, mode: 0o750 });
  // Written in place: other containers of the pod have the file mounted.
  const file = await openHostsFile(path);
  try {
    await file.writeFile(hostsFile(input.pod, input.hostname, input.podIPs, input.nodeHosts));
  } finally {
    await file.close();
  }
  return { containerPath: HOSTS_PATH, hostPath: path };
}

/** Opens the file for writing, truncated. Replaces anything else at the path by a file. */
async function openHostsFile(path: string): Promise<FileHandle> {
  try {
    return await openUntrusted(path, constants.O_WRONLY | constants.O_TRUNC);
  } catch (error) {
    if (error instanceof FileTypeError) await removeTree(path);
    else if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return await open(path, 'wx', 0o644);
  }
}

/**
 * Creates a termination log for each instance, so that messages of two instances are not mixed up.
 */
async function makeTerminationFile(input: MountsInput): Promise<string> {
  const directory = containerDir(input.rootDir, podUid(input.pod), input.container.name);
  await mkdir(directory, { recursive: true, mode: 0o750 });
  const path = join(directory, Buffer.from(input.random.bytes(4)).toString('hex'));
  await writeFile(path, '', { flag: 'wx' });
  // The container may run as any user.
  await chmod(path, 0o666);
  return path;
}
