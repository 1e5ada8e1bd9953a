// For tests and `npm run golden`: objects as upstream encodes them, in pairs of files
// `<group>.<version>.<Kind>.json` and `.pb`. The folder is beside the checkout; without it the
// tests are skipped.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MessageDescriptor } from '../machinery/descriptor.ts';
import { allSchemas } from '#api/all-schemas.ts';
import { messageOf } from './message-of.ts';

const folder = fileURLToPath(new URL('../../../../shared/golden/', import.meta.url));

export interface GoldenFile {
  /** Such as 'apps.v1.Deployment'. */
  readonly name: string;
  /** Undefined: the kind is unknown. */
  readonly message: MessageDescriptor | undefined;
  readonly json: string;
  /** Undefined: there is no such file. */
  readonly protobuf: Uint8Array | undefined;
}

export interface Golden extends GoldenFile {
  readonly message: MessageDescriptor;
  readonly protobuf: Uint8Array;
}

/** Returns the objects; an empty list if the folder is absent. */
export function goldenObjects(): Golden[] {
  if (!existsSync(folder)) return [];
  return readGolden(folder).map((file) => {
    const { message, protobuf } = file;
    if (message === undefined || protobuf === undefined)
      throw new Error(`${file.name} is not whole`);
    return { ...file, message, protobuf };
  });
}

/** Returns every object of a folder, by name. */
export function readGolden(directory: string): GoldenFile[] {
  const files = new Set(readdirSync(directory));
  return [...files]
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => {
      const name = file.slice(0, -'.json'.length);
      return {
        name,
        message: messageOfName(name),
        json: readFileSync(join(directory, file), 'utf8'),
        protobuf: files.has(`${name}.pb`) ? readFileSync(join(directory, `${name}.pb`)) : undefined,
      };
    });
}

/**
 * Returns the descriptor for a file name. Groups may contain dots, and a suffix after the kind may
 * describe the object. Types without a group are filed under core.
 */
function messageOfName(name: string): MessageDescriptor | undefined {
  const match = /^(.+?)\.(v\d+(?:(?:alpha|beta)\d+)?)\.([^.]+)/.exec(name);
  if (match === null) return undefined;
  const [, group = '', version = '', kind = ''] = match;
  const found = messageOf(group === 'core' || group === '' ? version : `${group}/${version}`, kind);
  if (found !== undefined) return found;
  return (
    messageOf('meta.k8s.io/v1', kind) ??
    (kind === 'WatchEvent' ? allSchemas.message('meta/v1.WatchEvent') : undefined)
  );
}
