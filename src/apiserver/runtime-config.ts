// Decides which of the server's groups, versions and resources are served, by the rules of
// kube-apiserver's --runtime-config. Keys are 'api/all', 'api/ga', 'api/beta', 'api/alpha',
// 'group/version' ('/v1' for the core group) and 'group/version/resource'. Each value is true or
// false, and a more specific key overrides a more general one. By default only stable versions are
// served, and the metrics of nodes and pods, which have no stable version.

import type { ResourceType } from '#api/machinery/descriptor.ts';

/** Values by key. The value '' means true, but not for 'api/…'. */
export type RuntimeConfig = Readonly<Record<string, string>>;

/** An invalid key or value. The message names the key and the problem. */
export class RuntimeConfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RuntimeConfigError';
  }
}

type Served = { readonly type: Pick<ResourceType, 'group' | 'version' | 'resource'> };

const STABLE = /^v\d+$/;
/** Groups that have no stable version, and are served like stable ones. */
const WITHOUT_STABLE: ReadonlySet<string> = new Set(['metrics.k8s.io']);
/** The general keys. Each one overrides those before it. */
const LEVELS: readonly (readonly [string, RegExp])[] = [
  ['api/all', /^/],
  ['api/ga', STABLE],
  ['api/beta', /^v\d+beta\d+$/],
  ['api/alpha', /^v\d+alpha\d+$/],
];
const BOOLEANS: Readonly<Record<string, boolean>> = Object.fromEntries([
  ...['', '1', 't', 'T', 'true', 'TRUE', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((text) => [text, false] as const),
]);

/**
 * Returns the resources to serve. Throws RuntimeConfigError, also for a resource that is enabled
 * but does not exist.
 */
export function servedUnder<T extends Served>(
  resources: readonly T[],
  config: RuntimeConfig,
): readonly T[] {
  const keys = Object.keys(config);
  if (keys.length === 1 && config['api/all'] === 'false') {
    throw new RuntimeConfigError('invalid runtime-config with only api/all=false');
  }
  const levels = LEVELS.flatMap(([key, pattern]) => {
    const value = config[key];
    if (value === undefined) return [];
    if (value !== 'true' && value !== 'false')
      throw new RuntimeConfigError(`invalid value ${key}=${value}`);
    const concerned = resources.some(({ type }) => pattern.test(type.version));
    if (value === 'true' && !concerned)
      throw new RuntimeConfigError(`${key}=true: this server has no such versions`);
    return [{ pattern, on: value === 'true' }];
  });
  const versions = new Map<string, boolean>();
  const single = new Map<string, boolean>();
  for (const key of keys) {
    if (LEVELS.some(([level]) => level === key)) continue;
    // An old name of the core group's version, which upstream's own scripts use.
    const path = key.replace(/^api\/v1(?=$|\/)/, '/v1');
    const [group, version, resource, ...others] = path.split('/');
    if (group === undefined || version === undefined || version === '' || others.length > 0) {
      throw new RuntimeConfigError(`runtime-config invalid key ${key}`);
    }
    const on = booleanOf(key, config[key]!);
    check(resources, key, { group, version, resource }, on);
    if (resource === undefined) versions.set(`${group}/${version}`, on);
    else single.set(path, on);
  }
  return resources.filter(({ type: { group, version, resource } }) => {
    const byLevel =
      levels.findLast(({ pattern }) => pattern.test(version))?.on ??
      (STABLE.test(version) || WITHOUT_STABLE.has(group));
    const groupVersion = `${group}/${version}`;
    return single.get(`${groupVersion}/${resource}`) ?? versions.get(groupVersion) ?? byLevel;
  });
}

function booleanOf(key: string, value: string): boolean {
  const on = Object.hasOwn(BOOLEANS, value) ? BOOLEANS[value] : undefined;
  if (on === undefined) {
    throw new RuntimeConfigError(
      `invalid value of ${key}: ${value}, err: strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`,
    );
  }
  return on;
}

/**
 * Checks a key. An unknown version or resource may be disabled, but an unknown group is an error.
 */
function check(
  resources: readonly Served[],
  key: string,
  {
    group,
    version,
    resource,
  }: { readonly group: string; readonly version: string; readonly resource: string | undefined },
  on: boolean,
): void {
  const ofGroup = resources.filter(({ type }) => type.group === group);
  const groupVersion = group === '' ? version : `${group}/${version}`;
  if (ofGroup.length === 0) throw new RuntimeConfigError(`unknown api groups ${groupVersion}`);
  if (resource !== undefined && resource !== resource.toLowerCase()) {
    const rule = 'group/version/resource and resource is always lowercase plural';
    throw new RuntimeConfigError(`invalid key ${key}: ${rule}, not ${JSON.stringify(resource)}`);
  }
  if (!on) return;
  const ofVersion = ofGroup.filter(({ type }) => type.version === version);
  if (ofVersion.length === 0) {
    throw new RuntimeConfigError(
      `${key}=true: group version ${groupVersion} that has not been registered: this server does not have it`,
    );
  }
  if (resource !== undefined && !ofVersion.some(({ type }) => type.resource === resource)) {
    throw new RuntimeConfigError(
      `${key}=true: this server has no resource ${resource} in ${groupVersion}`,
    );
  }
}
