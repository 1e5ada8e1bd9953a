// A body in YAML: its value, and the keys that it gives twice.

import { parseYaml, YamlError } from '#api/machinery/codec/yaml.ts';

export type YamlReading =
  | {
      readonly value: unknown;
      /** Keys that are given twice, as Kubernetes words it. */
      readonly duplicates?: string;
    }
  | { readonly error: YamlError }
  | { readonly bug: string };

export function readYamlBody(text: string, maxValues: number): YamlReading {
  try {
    return { value: parseYaml(text, { maxValues }) };
  } catch (error) {
    if (!(error instanceof YamlError)) return { bug: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    if (error.reason !== 'duplicate') return { error };
    const duplicates = error.message;
    try {
      return { value: parseYaml(text, { maxValues, allowDuplicateKeys: true }), duplicates };
    } catch (other) {
      if (other instanceof YamlError) return { error: other };
      throw other;
    }
  }
}
