// The file system of a block device: creates it on a blank device, mounts it, and grows it with the
// device. The steps, their order and their options are those of upstream's SafeFormatAndMount and
// ResizeFs (k8s.io/mount-utils).

import { execute, type Executed } from '#machinery/execute.ts';

export interface DeviceMount {
  /** The path of the block device. */
  readonly device: string;
  /** An existing directory. */
  readonly target: string;
  /** The type of file system that a blank device gets, and that is mounted. */
  readonly fsType: string;
  readonly options: readonly string[];
  /** A blank device is rejected, and the file system is not checked for errors. */
  readonly readOnly: boolean;
}

/** Runs a program to its end. Rejects if the program cannot be started. */
export type RunProgram = (command: readonly string[]) => Promise<Executed>;

/** Exit code of blkid: the device has no contents that it knows. */
const BLANK = 2;
/** Exit code of fsck: errors are left. Higher codes are failures of fsck itself. */
const ERRORS_LEFT = 4;
/** A type becomes a part of a program's name: it must not be a path. */
const FS_TYPE = /^[a-z0-9][a-z0-9_-]*$/;

/**
 * Formats the device if it is blank, and mounts it. Rejects with the reason; then nothing is
 * mounted.
 */
export async function formatAndMount(mount: DeviceMount, run: RunProgram = runProgram) {
  const { device, target, fsType, options, readOnly } = mount;
  if (!FS_TYPE.test(fsType)) throw new Error(`invalid file system type ${JSON.stringify(fsType)}`);
  const format = await diskFormat(device, run);
  if (format === '') {
    if (readOnly)
      throw new Error(
        `cannot mount unformatted disk ${device} as we are manipulating it in read-only mode`,
      );
    await succeed(run, [`mkfs.${fsType}`, ...formatFlags(fsType), device]);
  } else if (!readOnly) await check(device, run);
  const all = [...options, ...(readOnly ? ['ro'] : []), 'defaults'];
  await succeed(run, ['mount', '-t', fsType, '-o', all.join(','), device, target]);
}

/**
 * Grows a mounted file system to the size of its device. Rejects if the type of file system cannot
 * grow while it is mounted, or if this process may not grow it.
 */
export async function growFileSystem(
  device: string,
  mountPoint: string,
  run: RunProgram = runProgram,
): Promise<void> {
  const format = await diskFormat(device, run);
  const command = GROW[format]?.(device, mountPoint);
  if (command === undefined)
    throw new Error(
      `resize of format ${format} is not supported for device ${device} mounted at ${mountPoint}`,
    );
  await succeed(run, command);
}

const ext: GrowCommand = (device) => ['resize2fs', device];
type GrowCommand = (device: string, mountPoint: string) => readonly string[];
const GROW: Readonly<Record<string, GrowCommand>> = {
  ext3: ext,
  ext4: ext,
  xfs: (_, mountPoint) => ['xfs_growfs', '-d', mountPoint],
  btrfs: (_, mountPoint) => ['btrfs', 'filesystem', 'resize', 'max', mountPoint],
};

const runProgram: RunProgram = (command) => execute(command, '');

/**
 * Returns the type of the file system on a device; '' for a blank device. A device with a partition
 * table is not blank.
 */
async function diskFormat(device: string, run: RunProgram): Promise<string> {
  const probe = ['blkid', '-p', '-s', 'TYPE', '-s', 'PTTYPE', '-o', 'export', device];
  const { code, stdout, stderr } = await run(probe);
  if (code === BLANK) return '';
  if (code !== 0)
    throw new Error(
      `failed to get disk format of disk ${device}: ${probe.join(' ')}: exit code ${code}: ${stderr.trim()}`,
    );
  const tags = new Map(stdout.split('\n').map((line) => splitTag(line)));
  return tags.has('PTTYPE') ? 'unknown data, probably partitions' : (tags.get('TYPE') ?? '');
}

function splitTag(line: string): [string, string] {
  const at = line.indexOf('=');
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)];
}

function formatFlags(fsType: string): readonly string[] {
  if (fsType === 'ext3' || fsType === 'ext4') return ['-F', '-m0'];
  return fsType === 'xfs' ? ['-f'] : [];
}

/**
 * Repairs what can be repaired without questions. Rejects if errors are left. A check that cannot be
 * made (no fsck on this machine, a type without one) does not keep the volume from being mounted.
 */
async function check(device: string, run: RunProgram): Promise<void> {
  let result: Executed;
  try {
    result = await run(['fsck', '-a', device]);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if (result.code !== ERRORS_LEFT) return;
  const said = `${result.stdout}${result.stderr}`.trim();
  throw new Error(`'fsck' found errors on device ${device} but could not correct them: ${said}`);
}

async function succeed(run: RunProgram, command: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await run(command);
  if (code === 0) return;
  const said = stderr.trim() || stdout.trim();
  throw new Error(`${command.join(' ')}: exit code ${code}: ${said}`);
}
