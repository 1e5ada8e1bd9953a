// Environment variables that many containers have in common, above all those of services, which
// every container of a namespace gets. Each is kept once, since a container has a dozen of them and
// a simulation has thousands of containers.

import type { ContainerConfig } from '#cri/index.ts';
import { LruCache } from '#machinery/collections/lru.ts';

type Environment = NonNullable<ContainerConfig['envs']>;

/** Longer values are rarely the same. */
const MAX_SHARED_BYTES = 256;
/** The environment of the last container: the next one often has the same. */
let last: Environment = [];
const recent = new LruCache<string, Environment[number]>({ capacity: 1024 });

/** Returns the config with the variables that equal recent ones replaced by those. */
export function withSharedEnvironment(config: ContainerConfig): ContainerConfig {
  const { envs } = config;
  if (envs === undefined || envs.length === 0) return config;
  const own = envs.map(shared);
  const isLast = own.length === last.length && own.every((each, i) => each === last[i]);
  if (!isLast) last = own;
  return { ...config, envs: last };
}

function shared(variable: Environment[number]): Environment[number] {
  const { key = '', value } = variable;
  if (value === undefined || value.length > MAX_SHARED_BYTES) return variable;
  const id = `${key}=${Buffer.from(value.buffer, value.byteOffset, value.length).toString('latin1')}`;
  const known = recent.get(id);
  if (known !== undefined) return known;
  // A copy, since the value may be a view of a larger buffer.
  const kept = { key, value: new Uint8Array(value) };
  recent.set(id, kept);
  return kept;
}
