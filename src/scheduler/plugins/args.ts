// Reads plugin arguments (KubeSchedulerConfiguration's pluginConfig[].args).

import * as field from '#machinery/validation/field.ts';
import { ConfigReader } from '../config/reader.ts';
import type { PluginArgs } from '../framework/handle.ts';

/**
 * Reads the arguments with `read`, and throws ConfigurationError if they are invalid. `fields`: the
 * allowed fields besides apiVersion and kind.
 */
export function readArgs<T>(
  plugin: string,
  args: PluginArgs,
  fields: readonly string[],
  read: (args: ConfigReader) => T,
): T {
  const reader = new ConfigReader(args.value, field.path(args.path)).fields(
    'apiVersion',
    'kind',
    ...fields,
  );
  reader.child('kind').oneOf(`${plugin}Args`);
  reader.child('apiVersion').oneOf('kubescheduler.config.k8s.io/v1');
  const result = read(reader);
  reader.check(`arguments of plugin ${plugin}`);
  return result;
}

/** Checks the arguments of a plugin that has none. */
export function noArgs(plugin: string, args: PluginArgs): void {
  if (args.value !== undefined) readArgs(plugin, args, [], () => undefined);
}
