// The settings of the plugin ImagePolicyWebhook, from its configuration, which has no kind. The
// messages are upstream's.

import { isPlainObject } from '#machinery/deep.ts';
import { formatDuration } from '#machinery/text/duration.ts';
import { ConfigurationError } from '../../configuration-files/decode.ts';
import type { ImagePolicySettings } from '../configuration.ts';

interface Range {
  /** The name in messages. */
  readonly name: string;
  /** The unit of the value, in ms. */
  readonly unitMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  readonly defaultMs: number;
}

const MAX_TTL_MS = 30 * 60_000;
const BACKOFF: Range = {
  name: 'retryBackoff',
  unitMs: 1,
  minMs: 0,
  maxMs: 5 * 60_000,
  defaultMs: 500,
};
const ALLOW: Range = {
  name: 'allowTTL',
  unitMs: 1000,
  minMs: 1000,
  maxMs: MAX_TTL_MS,
  defaultMs: 5 * 60_000,
};
const DENY: Range = { ...ALLOW, name: 'denyTTL', defaultMs: 30_000 };
const FIELDS = ['kubeConfigFile', 'allowTTL', 'denyTTL', 'retryBackoff', 'defaultAllow'];

/** `absolute`: returns the absolute path of a kubeconfig. Throws ConfigurationError. */
export function readImagePolicy(
  value: unknown,
  absolute: (kubeconfig: string) => string,
): ImagePolicySettings {
  const fields = isPlainObject(value) ? value['imagePolicy'] : undefined;
  if (!isPlainObject(fields)) throw problem('imagePolicy must have the settings of the webhook');
  const unknown = Object.keys(fields).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) throw problem(`unknown field "imagePolicy.${unknown}"`);
  const { kubeConfigFile, defaultAllow = false } = fields;
  if (typeof kubeConfigFile !== 'string' || kubeConfigFile === '')
    throw problem('imagePolicy.kubeConfigFile must name a kubeconfig');
  if (typeof defaultAllow !== 'boolean')
    throw problem('imagePolicy.defaultAllow must be true or false');
  return {
    kubeConfigFile: absolute(kubeConfigFile),
    retryBackoffMs: durationOf(fields, BACKOFF),
    allowTtlMs: durationOf(fields, ALLOW),
    denyTtlMs: durationOf(fields, DENY),
    defaultAllow,
  };
}

/** 0 and absent are the default, -1 is none. */
function durationOf(fields: Readonly<Record<string, unknown>>, range: Range): number {
  const { name, unitMs, minMs, maxMs, defaultMs } = range;
  const value = fields[name] ?? 0;
  if (typeof value !== 'number' || !Number.isInteger(value))
    throw problem(`imagePolicy.${name} must be a whole number`);
  if (value === -1) return 0;
  if (value === 0) return defaultMs;
  const ms = value * unitMs;
  if (ms >= minMs && ms <= maxMs) return ms;
  const [least, most, got] = [minMs === 0 ? '1ns' : formatDuration(minMs), maxMs, ms];
  throw problem(
    `valid value is between ${least} and ${formatDuration(most)}, got ${formatDuration(got)}`,
  );
}

const problem = (message: string): ConfigurationError =>
  new ConfigurationError(`couldn't init admission plugin "ImagePolicyWebhook": ${message}`);
