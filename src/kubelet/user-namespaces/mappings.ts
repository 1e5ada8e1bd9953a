// The file with the mappings of a pod's user namespace, in upstream's format.

import type { IdRange } from './id-ranges.ts';

/** Its name in the directory of the pod. */
export const MAPPINGS_FILE = 'userns';

interface Mapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

export class MappingsFileError extends Error {}

/** Returns the contents of the file: the range is mapped to the IDs from 0 on. */
export function formatMappings({ first, length }: IdRange): string {
  const mappings: readonly Mapping[] = [{ hostId: first, containerId: 0, length }];
  return JSON.stringify({ uidMappings: mappings, gidMappings: mappings });
}

/** Returns the range. Throws MappingsFileError if the file is not one that a kubelet writes. */
export function parseMappings(text: string): IdRange {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw new MappingsFileError(
      `invalid user namespace mappings file: ${(error as Error).message}`,
    );
  }
  const fields = (content ?? {}) as Readonly<Record<string, unknown>>;
  const uids = readMappings(fields['uidMappings']);
  const gids = readMappings(fields['gidMappings']);
  const [uid] = uids;
  const [gid] = gids;
  if (uid === undefined || uids.length !== 1) throw invalid('no more than one mapping allowed.');
  if (gid === undefined || gids.length !== 1)
    throw invalid('GID and UID mappings should be identical.');
  if (uid.hostId !== gid.hostId || uid.containerId !== gid.containerId || uid.length !== gid.length)
    throw invalid('GID and UID mapping should be identical');
  if (uid.containerId !== 0) throw invalid('UID 0 must be mapped');
  return { first: uid.hostId, length: uid.length };
}

function readMappings(list: unknown): readonly Mapping[] {
  if (!Array.isArray(list)) return [];
  return list.map((item: unknown) => {
    const { hostId, containerId, length } = (item ?? {}) as Readonly<Record<string, unknown>>;
    if (!isId(hostId) || !isId(containerId) || !isId(length))
      throw new MappingsFileError('invalid user namespace mappings file: a mapping has three IDs');
    return { hostId, containerId, length };
  });
}

const isId = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 32;

const invalid = (problem: string): MappingsFileError =>
  new MappingsFileError(`invalid user namespace configuration: ${problem}`);
