// The arguments of the plugin: DynamicResourcesArgs.

import * as field from '#machinery/validation/field.ts';
import { DurationError, parseDuration } from '#machinery/text/duration.ts';
import type { ConfigReader } from '#scheduler/config/reader.ts';
import type { PluginArgs } from '#scheduler/framework/handle.ts';
import { readArgs } from '../args.ts';

export interface DynamicResourcesArgs {
  /** The time limit for one node in milliseconds; 0: none. */
  readonly filterTimeoutMs: number;
  /** How long a pod waits until its devices are ready, in milliseconds. */
  readonly bindingTimeoutMs: number;
}

const DEFAULT_FILTER_TIMEOUT_MS = 10_000;
const DEFAULT_BINDING_TIMEOUT_MS = 600_000;

export function readDynamicResourcesArgs(plugin: string, args: PluginArgs): DynamicResourcesArgs {
  return readArgs(plugin, args, ['filterTimeout', 'bindingTimeout'], (reader) => ({
    filterTimeoutMs:
      readMs(reader.child('filterTimeout'), 0, 'must be zero or positive') ??
      DEFAULT_FILTER_TIMEOUT_MS,
    bindingTimeoutMs:
      readMs(reader.child('bindingTimeout'), 1000, 'must be at least 1 second') ??
      DEFAULT_BINDING_TIMEOUT_MS,
  }));
}

function readMs(reader: ConfigReader, least: number, why: string): number | undefined {
  const text = reader.string();
  if (text === undefined) return undefined;
  try {
    const milliseconds = parseDuration(text);
    if (milliseconds < least) reader.errors.push(field.invalid(reader.path, text, why));
    return milliseconds;
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    reader.errors.push(field.invalid(reader.path, text, error.message));
    return undefined;
  }
}
