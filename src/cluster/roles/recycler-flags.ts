// The flags of `cox controller-manager` about the pods that recycle volumes, as upstream has them.

import { allSchemas } from '#api/all-schemas.ts';
import type { Pod } from '#api/groups/core/v1/index.ts';
import { decodeObject } from '#api/machinery/codec/index.ts';
import type { RecyclerSettings } from '#controllers/index.ts';
import { parseFlagYaml, readFlagFile } from '../flags/flag-files.ts';
import { UserError } from '../user-error.ts';

/** The times are in seconds. */
export interface RecyclerFlags {
  readonly pvRecyclerPodTemplateFilepathNfs?: string;
  readonly pvRecyclerMinimumTimeoutNfs?: number;
  readonly pvRecyclerIncrementTimeoutNfs?: number;
  readonly pvRecyclerPodTemplateFilepathHostpath?: string;
  readonly pvRecyclerMinimumTimeoutHostpath?: number;
  readonly pvRecyclerTimeoutIncrementHostpath?: number;
}

/** Throws a UserError if a template cannot be used. */
export function readRecyclerFlags(flags: RecyclerFlags): RecyclerSettings {
  return {
    nfs: {
      template: readTemplate('nfs', flags.pvRecyclerPodTemplateFilepathNfs),
      minimumTimeoutSeconds: flags.pvRecyclerMinimumTimeoutNfs,
      timeoutIncrementSeconds: flags.pvRecyclerIncrementTimeoutNfs,
    },
    hostPath: {
      template: readTemplate('hostpath', flags.pvRecyclerPodTemplateFilepathHostpath),
      minimumTimeoutSeconds: flags.pvRecyclerMinimumTimeoutHostpath,
      timeoutIncrementSeconds: flags.pvRecyclerTimeoutIncrementHostpath,
    },
  };
}

function readTemplate(kind: string, path: string | undefined): Pod | undefined {
  if (path === undefined) return undefined;
  const flag = `--pv-recycler-pod-template-filepath-${kind}`;
  const document = parseFlagYaml(flag, readFlagFile(flag, path));
  const reject = (why: string): UserError => new UserError(`${flag}: ${path}: ${why}`);
  const { object, unknownFields } = decodeTemplate(document, reject);
  if (object.apiVersion !== 'v1' || object.kind !== 'Pod')
    throw reject('a Pod of the version v1 was expected');
  if (unknownFields.length > 0) throw reject(`unknown fields: ${unknownFields.join(', ')}`);
  if ((object.spec.volumes ?? []).length === 0)
    throw reject('the pod does not contain any volumes: the first becomes the one to recycle');
  if ((object.metadata.namespace ?? '') === '') throw reject('the pod names no namespace');
  return object;
}

function decodeTemplate(
  document: unknown,
  reject: (why: string) => UserError,
): ReturnType<typeof decodeObject<Pod>> {
  try {
    return decodeObject<Pod>(allSchemas.message('core/v1.Pod'), document);
  } catch (error) {
    throw reject((error as Error).message);
  }
}
