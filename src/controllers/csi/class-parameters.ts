// The parameters of storage classes that are meant for these controllers, not for the driver.

import type { PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { ownValue } from '#machinery/collections/string-map.ts';

const PREFIX = 'csi.storage.k8s.io/';

export interface SecretReference {
  readonly name: string;
  readonly namespace: string;
}

export type SecretUse =
  | 'provisioner'
  | 'controller-publish'
  | 'controller-expand'
  | 'node-stage'
  | 'node-publish'
  | 'node-expand';

const USES: readonly SecretUse[] = [
  'provisioner',
  'controller-publish',
  'controller-expand',
  'node-stage',
  'node-publish',
  'node-expand',
];

export interface ClassParameters {
  readonly fsType: string;
  readonly secrets: Readonly<Partial<Record<SecretUse, SecretReference>>>;
  /** The parameters for the driver. */
  readonly own: Readonly<Record<string, string>>;
}

/**
 * Returns the parameters for a claim. `defaultFsType` is the file system of classes that name none.
 * Throws the reason if they cannot be used.
 */
export function classParameters(
  parameters: Readonly<Record<string, string>>,
  claim: Immutable<PersistentVolumeClaim>,
  volumeName: string,
  defaultFsType = '',
): ClassParameters {
  const own: Record<string, string> = {};
  const ours = new Map<string, string>();
  for (const [key, value] of Object.entries(parameters)) {
    if (key.startsWith(PREFIX)) ours.set(key.slice(PREFIX.length), value);
    else own[key] = value;
  }
  const secrets: Partial<Record<SecretUse, SecretReference>> = {};
  for (const use of USES) {
    const name = ours.get(`${use}-secret-name`);
    const namespace = ours.get(`${use}-secret-namespace`);
    ours.delete(`${use}-secret-name`);
    ours.delete(`${use}-secret-namespace`);
    if (name === undefined && namespace === undefined) continue;
    if (name === undefined || namespace === undefined) {
      throw new Error(
        `only one of ${PREFIX}${use}-secret-name and ${PREFIX}${use}-secret-namespace is given`,
      );
    }
    secrets[use] = {
      name: expand(name, claim, volumeName, use !== 'provisioner'),
      namespace: expand(namespace, claim, volumeName, false),
    };
  }
  const fsType = ours.get('fstype') ?? defaultFsType;
  ours.delete('fstype');
  const [unknown] = ours.keys();
  if (unknown !== undefined)
    throw new Error(`found unknown parameter key "${PREFIX}${unknown}" with reserved namespace`);
  return { fsType, secrets, own };
}

/** Replaces ${pv.name}, ${pvc.namespace} and, where it is allowed, values of the claim. */
function expand(
  template: string,
  { metadata }: Immutable<PersistentVolumeClaim>,
  volumeName: string,
  ofClaim: boolean,
): string {
  return template.replaceAll(/\$\{([^}]*)\}/g, (_, name: string) => {
    if (name === 'pv.name') return volumeName;
    if (name === 'pvc.namespace') return metadata.namespace ?? '';
    if (name === 'pvc.name') return metadata.name;
    const key = /^pvc\.annotations\['([^']*)'\]$/.exec(name)?.[1];
    const value = key === undefined ? undefined : ownValue(metadata.annotations ?? {}, key);
    if (!ofClaim || value === undefined)
      throw new Error(`error resolving secret value "${template}": invalid tokens: ["${name}"]`);
    return value;
  });
}
