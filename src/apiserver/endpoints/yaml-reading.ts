// Reads a body in YAML: its value, and its duplicate keys.

import { parseYaml, YamlError, type YamlOptions } from '#api/machinery/codec/yaml.ts';

export type YamlReading =
  | {
      readonly value: unknown;
      /** Duplicate keys, in Kubernetes' words. */
      readonly duplicates?: string;
    }
  | { readonly error: YamlError }
  | { readonly bug: string };

/** Options for reading a body. */
export interface YamlLimits {
  readonly maxValues: number;
  /**
   * Integers that a number cannot represent become bigints; otherwise they are errors. See
   * ObjectCodec.
   */
  readonly bigints: boolean;
}

export function readYamlBody(text: string, { maxValues, bigints }: YamlLimits): YamlReading {
  const options: YamlOptions = { maxValues, largeIntegers: bigints ? 'bigint' : 'error' };
  try {
    return { value: parseYaml(text, options) };
  } catch (error) {
    if (!(error instanceof YamlError))
      return { bug: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    if (error.reason !== 'duplicate') return { error };
    const duplicates = error.message;
    try {
      return { value: parseYaml(text, { ...options, allowDuplicateKeys: true }), duplicates };
    } catch (error_) {
      if (error_ instanceof YamlError) return { error: error_ };
      throw error_;
    }
  }
}
