// The thread that reads large bodies in YAML. See yaml-bodies.ts.

import { parentPort } from 'node:worker_threads';
import type { YamlError } from '#api/machinery/codec/yaml-error.ts';
import { encodeJson } from '#machinery/text/json-integers.ts';
import { readYamlBody, type YamlLimits, type YamlReading } from './yaml-reading.ts';

/** The response to a text: the value as JSON, or the problem. */
export type YamlAnswer =
  | { readonly json: string; readonly bigints: boolean; readonly duplicates: string | undefined }
  | { readonly error: string; readonly line: number; readonly reason: YamlError['reason'] }
  | { readonly bug: string };

parentPort?.on(
  'message',
  ({ text, limits }: { readonly text: string; readonly limits: YamlLimits }) => {
    parentPort?.postMessage(answerTo(text, limits), []);
  },
);

function answerTo(text: string, limits: YamlLimits): YamlAnswer {
  const reading: YamlReading = readYamlBody(text, limits);
  if ('bug' in reading) return { bug: reading.bug };
  if ('error' in reading) {
    const { message, line, reason } = reading.error;
    return { error: message, line, reason };
  }
  const { text: json, bigints } = encodeJson(reading.value);
  return { json, bigints, duplicates: reading.duplicates };
}
