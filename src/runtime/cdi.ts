// The Container Device Interface where the runtime below does not have it: looks devices up in the
// host's specifications, and adds their variables, mounts and device nodes to a container. Other edits
// (hooks, groups, network devices) cannot be expressed in a container's configuration, and are rejected.
//
// https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md

import { join } from 'node:path';
import { parse } from 'yaml';
import { type ContainerConfig, CriError } from '#cri/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { namesIn } from '#machinery/files/names-in.ts';
import { readUntrusted } from '#machinery/files/untrusted.ts';
import type { Logger } from '#machinery/log.ts';

/** Where specifications are. Those of a later directory win. */
export const CDI_DIRECTORIES: readonly string[] = ['/etc/cdi', '/var/run/cdi'];

interface Edits {
  readonly env?: readonly string[];
  readonly deviceNodes?: readonly {
    readonly path: string;
    readonly hostPath?: string;
    readonly permissions?: string;
  }[];
  readonly mounts?: readonly {
    readonly hostPath: string;
    readonly containerPath: string;
    readonly options?: readonly string[];
  }[];
}

interface Spec {
  /** For example 'example.com/gpu'. */
  readonly kind: string;
  readonly devices?: readonly { readonly name: string; readonly containerEdits?: Edits }[];
  readonly containerEdits?: Edits;
}

const MAX_SPEC_BYTES = 1024 * 1024;
const MAX_SPECS = 1000;
const SUPPORTED: ReadonlySet<string> = new Set(['env', 'deviceNodes', 'mounts']);

export interface CdiSettings {
  readonly directories: readonly string[];
  /** The reason why edits can be impossible, for messages: 'containerd 1.6.20 has no CDI'. */
  readonly reason: string;
  /** For specifications that cannot be read; they are left out. */
  readonly logger?: Logger;
}

/**
 * Returns the configuration with the edits of its CDI devices, and without the devices. Rejects with
 * a CriError that names devices that no specification has, or edits that are not possible.
 */
export async function withCdiDevices(
  { CDIDevices = [], ...config }: ContainerConfig,
  { directories, reason, logger }: CdiSettings,
): Promise<ContainerConfig> {
  const names = CDIDevices.map(({ name = '' }) => name);
  if (names.length === 0) return config;
  const specs = await readSpecs(directories, logger);
  const missing: string[] = [];
  const edits = new Set<Edits>();
  for (const name of names) {
    const [kind, device] = name.split('=');
    const spec = specs.findLast(
      (candidate) =>
        candidate.kind === kind && candidate.devices?.some((known) => known.name === device),
    );
    if (spec === undefined) {
      missing.push(name);
      continue;
    }
    if (spec.containerEdits !== undefined) edits.add(spec.containerEdits);
    const own = spec.devices?.find((known) => known.name === device)?.containerEdits;
    if (own !== undefined) edits.add(own);
  }
  if (missing.length > 0) {
    throw new CriError(
      'InvalidArgument',
      `CDI device injection failed: unresolvable CDI devices ${missing.join(', ')}`,
    );
  }
  return [...edits].reduce<ContainerConfig>((sum, each) => edited(sum, each, reason), config);
}

function edited(config: ContainerConfig, edits: Edits, reason: string): ContainerConfig {
  for (const key of Object.keys(edits)) {
    if (SUPPORTED.has(key)) continue;
    throw new CriError('InvalidArgument', `${reason}: CDI edits of ${key} are not possible`);
  }
  return {
    ...config,
    envs: [
      ...(config.envs ?? []),
      ...(edits.env ?? []).map((variable) => {
        const at = variable.indexOf('=');
        return { key: variable.slice(0, at), value: Buffer.from(variable.slice(at + 1)) };
      }),
    ],
    devices: [
      ...(config.devices ?? []),
      ...(edits.deviceNodes ?? []).map(({ path, hostPath = path, permissions = 'rw' }) => ({
        containerPath: path,
        hostPath,
        permissions,
      })),
    ],
    mounts: [
      ...(config.mounts ?? []),
      ...(edits.mounts ?? []).map(({ hostPath, containerPath, options }) => ({
        hostPath,
        containerPath,
        readonly: options?.includes('ro') === true,
      })),
    ],
  };
}

/** Returns all specifications. One that cannot be read is logged and left out. */
async function readSpecs(
  directories: readonly string[],
  logger: Logger | undefined,
): Promise<readonly Spec[]> {
  const specs: Spec[] = [];
  for (const directory of directories) {
    for (const file of (await entriesOf(directory)).slice(0, MAX_SPECS)) {
      try {
        const text = await readUntrusted(join(directory, file), MAX_SPEC_BYTES);
        const spec = parse(text.toString('utf8'), { maxAliasCount: 0 }) as Partial<Spec> | null;
        if (typeof spec?.kind !== 'string') throw new Error('it has no kind');
        specs.push(spec as Spec);
      } catch (error) {
        logger?.warn('CDI specification not read', { file, reason: errorMessage(error) });
      }
    }
  }
  return specs;
}

async function entriesOf(directory: string): Promise<readonly string[]> {
  return (await namesIn(directory)).filter((name) => /\.(json|yaml)$/.test(name)).toSorted();
}
