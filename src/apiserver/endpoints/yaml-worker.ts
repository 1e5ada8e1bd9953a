// The thread that reads large bodies in YAML. See yaml-bodies.ts.

import { parentPort } from 'node:worker_threads';
import type { YamlError } from '#api/machinery/codec/yaml-error.ts';
import { readYamlBody } from './yaml-reading.ts';
import type { YamlReading } from './yaml-reading.ts';

/** The answer to a text: the value as JSON, or what is wrong with it. */
export type YamlAnswer =
  | { readonly json: string; readonly duplicates: string | undefined }
  | { readonly error: string; readonly line: number; readonly reason: YamlError['reason'] }
  | { readonly bug: string };

parentPort?.on('message', ({ text, maxValues }: { readonly text: string; readonly maxValues: number }) => {
  parentPort?.postMessage(answerTo(text, maxValues), []);
});

function answerTo(text: string, maxValues: number): YamlAnswer {
  const reading: YamlReading = readYamlBody(text, maxValues);
  if ('bug' in reading) return { bug: reading.bug };
  if ('error' in reading) {
    const { message, line, reason } = reading.error;
    return { error: message, line, reason };
  }
  return { json: JSON.stringify(reading.value), duplicates: reading.duplicates };
}
