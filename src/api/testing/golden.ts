// For tests: objects as upstream encodes them, where they are at hand (a folder beside the checkout). Tests skip without.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { MessageDescriptor } from '../descriptor.ts';
import { schemas } from '../schema/all.ts';
import { messageDescriptor } from '../schema/compile.ts';

const folder = fileURLToPath(new URL('../../../../shared/golden/', import.meta.url));

export interface Golden {
  readonly name: string;
  readonly message: MessageDescriptor;
  readonly json: string;
  readonly protobuf: Uint8Array;
}

/** Empty where the folder is absent. */
export function goldenObjects(): Golden[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .map((file) => {
      const name = file.slice(0, -'.json'.length);
      const [group = '', version = '', kind = ''] = name.split('.');
      return {
        name,
        message: findMessage(group, version, kind),
        json: readFileSync(folder + file, 'utf8'),
        protobuf: readFileSync(`${folder}${name}.pb`),
      };
    });
}

/** What is in no group is filed under core. */
function findMessage(group: string, version: string, kind: string): MessageDescriptor {
  const own = schemas.find((schema) => schema.key === `${group}/${version}`);
  return messageDescriptor(own !== undefined && kind in own.types ? `${own.key}.${kind}` : `meta/v1.${kind}`);
}
