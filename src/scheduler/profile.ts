// Resolves a profile to the ordered plugins that it runs.

import * as field from '#machinery/validation/field.ts';
import type { Handle } from './framework/handle.ts';
import {
  type ExtensionPoint,
  implementsPoint,
  type Plugin,
  type PluginAt,
  type PluginsByPoint,
} from './framework/plugin.ts';
import { defaultPlugins, type Registry } from './plugins/registry.ts';
import type { EnabledPlugin, PluginSet, ProfileConfiguration } from './config/configuration.ts';
import { ConfigurationError } from './config/reader.ts';

const NOTHING: PluginSet = { enabled: [], disabled: [] };

/**
 * Creates the profile's plugins. Throws ConfigurationError for unknown plugins, invalid arguments,
 * and plugins at unsupported extension points.
 */
export function resolveProfile(
  profile: ProfileConfiguration,
  registry: Registry,
  handle: Handle,
): PluginsByPoint {
  const resolver = new Resolver(profile, registry, handle);
  const resolve = <P extends ExtensionPoint>(point: P): PluginAt[P][] =>
    resolver.resolve(point).map(({ plugin }) => plugin);
  const queueSort = resolve('queueSort');
  const plugins: PluginsByPoint = {
    preEnqueue: resolve('preEnqueue'),
    queueSort: queueSort[0] ?? NO_QUEUE_SORT,
    preFilter: resolve('preFilter'),
    filter: resolve('filter'),
    postFilter: resolve('postFilter'),
    preScore: resolve('preScore'),
    score: resolver.resolve('score').map(({ plugin, weight }) => ({ plugin, weight: weight || 1 })),
    reserve: resolve('reserve'),
    permit: resolve('permit'),
    preBind: resolve('preBind'),
    bind: resolve('bind'),
    postBind: resolve('postBind'),
  };
  const at = field.path(profile.path).child('plugins');
  if (queueSort.length !== 1) {
    const names = queueSort.map((plugin) => plugin.name);
    resolver.errors.push(
      field.invalid(at.child('queueSort'), names, 'exactly one queue sort plugin is needed'),
    );
  }
  if (plugins.bind.length === 0)
    resolver.errors.push(field.required(at.child('bind'), 'at least one bind plugin is needed'));
  if (resolver.errors.length > 0)
    throw new ConfigurationError(`scheduler profile "${profile.schedulerName}"`, resolver.errors);
  return plugins;
}

/** Never used: a profile without queue sort is rejected. */
const NO_QUEUE_SORT: PluginAt['queueSort'] = { name: '', less: () => false };

interface Weighted<P extends ExtensionPoint> {
  readonly plugin: PluginAt[P];
  readonly weight: number;
}

class Resolver {
  readonly errors: field.FieldError[] = [];
  readonly #profile: ProfileConfiguration;
  readonly #at: field.FieldPath;
  readonly #multiPoint: readonly EnabledPlugin[];
  /** One instance for each plugin of the profile. */
  readonly #instances = new Map<string, Plugin>();

  constructor(profile: ProfileConfiguration, registry: Registry, handle: Handle) {
    this.#profile = profile;
    this.#at = field.path(profile.path);
    this.#multiPoint = mergedWithDefault(profile.plugins.multiPoint ?? NOTHING);
    const names = new Set(this.#multiPoint.map((plugin) => plugin.name));
    for (const [point, set] of Object.entries(profile.plugins)) {
      const seen = new Set<string>();
      for (const { name } of set?.enabled ?? []) {
        names.add(name);
        if (seen.has(name))
          this.errors.push(field.duplicate(this.#at.child('plugins', point, 'enabled'), name));
        seen.add(name);
      }
      for (const name of set?.disabled ?? []) {
        if (name !== '*' && !registry.has(name))
          this.#unknown(this.#at.child('plugins', point, 'disabled'), name, registry);
      }
    }
    // Arguments for a disabled plugin are validated, too.
    for (const name of profile.pluginConfig.keys()) names.add(name);
    for (const name of names) this.#create(name, registry, handle);
  }

  /**
   * Returns the plugins in order: first plugins of multiPoint that the extension point also lists,
   * in its order; then the other plugins of multiPoint; then the rest.
   */
  resolve<P extends ExtensionPoint>(point: P): readonly Weighted<P>[] {
    const { enabled, disabled } = this.#profile.plugins[point] ?? NOTHING;
    const named = new Set(enabled.map((plugin) => plugin.name));
    const viaMultiPoint = new Set<string>();
    const more: EnabledPlugin[] = [];
    if (!disabled.includes('*')) {
      for (const plugin of this.#multiPoint) {
        const instance = this.#instances.get(plugin.name);
        if (
          instance === undefined ||
          !implementsPoint(instance, point) ||
          disabled.includes(plugin.name)
        )
          continue;
        if (named.has(plugin.name)) viaMultiPoint.add(plugin.name);
        else more.push(plugin);
      }
    }
    const overriding = enabled.filter((plugin) => viaMultiPoint.has(plugin.name));
    const others = enabled.filter((plugin) => !viaMultiPoint.has(plugin.name));
    return [...overriding, ...more, ...others].flatMap(({ name, weight }) => {
      const plugin = this.#instances.get(name);
      if (plugin === undefined) return [];
      if (implementsPoint(plugin, point)) return [{ plugin, weight }];
      this.errors.push(
        field.invalid(
          this.#at.child('plugins', point, 'enabled'),
          name,
          `plugin does not implement ${point}`,
        ),
      );
      return [];
    });
  }

  #create(name: string, registry: Registry, handle: Handle): void {
    const registration = registry.get(name);
    if (registration === undefined) {
      this.#unknown(
        this.#at.child(this.#profile.pluginConfig.has(name) ? 'pluginConfig' : 'plugins'),
        name,
        registry,
      );
      return;
    }
    const args = this.#profile.pluginConfig.get(name) ?? {
      value: undefined,
      path: this.#at.child('pluginConfig').toString(),
    };
    try {
      this.#instances.set(name, registration.create(args, handle));
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      this.errors.push(...error.errors);
    }
  }

  #unknown(at: field.FieldPath, name: string, registry: Registry): void {
    if (name === '') return;
    const known = [...registry.keys()].sort().join(', ');
    this.errors.push(field.invalid(at, name, `unknown plugin; there are ${known}`));
  }
}

/** Returns the default plugins without disabled ones, then the additional plugins. */
function mergedWithDefault(custom: PluginSet): readonly EnabledPlugin[] {
  const added = new Map(custom.enabled.map((plugin) => [plugin.name, plugin]));
  const all = custom.disabled.includes('*');
  const merged: EnabledPlugin[] = [];
  for (const plugin of defaultPlugins) {
    if (all || custom.disabled.includes(plugin.name)) continue;
    // A default plugin that is listed again keeps its place and gets the new weight.
    merged.push(added.get(plugin.name) ?? plugin);
    added.delete(plugin.name);
  }
  return [...merged, ...added.values()];
}
