// Reads bodies in YAML. kubectl and client libraries send JSON; YAML comes from users with curl,
// and from attackers. Reading it takes a hundred times as long as JSON, and as much memory. Short
// texts are read at once. Longer ones are read one at a time in a separate thread with limits of
// memory and time, so that other requests do not wait for them.

import { outsideWork } from '#machinery/pending-work.ts';
import { Worker } from 'node:worker_threads';

import { YamlError } from '#api/machinery/codec/yaml-error.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { workerSource } from '#machinery/worker-source.ts';
import { parseJson } from '#machinery/text/json.ts';
import type { YamlLimits } from './yaml-reading.ts';
import type { YamlAnswer } from './yaml-worker.ts';

export interface YamlBody {
  readonly value: unknown;
  /** Duplicate keys, in Kubernetes' words. */
  readonly duplicates?: string;
}

/** The maximum length of a short text, which takes a few milliseconds at most. */
const SHORT_TEXT = 4 * 1024;
/** The message for bytes that are not UTF-8. */
export const NOT_UTF8 = 'yaml: invalid leading UTF-8 octet';
/** The time limit of one text, in ms: several times as long as the largest manifest takes. */
const TIME_LIMIT_MS = 15_000;
const MAX_HEAP_MB = 512;
const MAX_WAITING = 16;

let worker: Worker | undefined;
/** The end of the last text in the queue. */
let last: Promise<unknown> = Promise.resolve();
let waiting = 0;

/** Reads a body. Throws YamlError, StatusError (413, 429). */
export async function parseYamlBody(
  text: string,
  limits: YamlLimits,
  clock: Clock,
): Promise<YamlBody> {
  if (text.length <= SHORT_TEXT) return readHere(text, limits);
  if (waiting >= MAX_WAITING)
    throw apierrors.tooManyRequests(
      'too many bodies in YAML are being read, please try again later',
      1,
    );
  waiting++;
  const reading = last.then(() => readInThread(text, limits, clock));
  last = reading.catch(() => undefined);
  try {
    return await reading;
  } finally {
    waiting--;
  }
}

async function readHere(text: string, limits: YamlLimits): Promise<YamlBody> {
  // The parser is large; most servers never need it.
  const { readYamlBody } = await outsideWork(import('./yaml-reading.ts'));
  const reading = readYamlBody(text, limits);
  if ('bug' in reading) throw new Error(reading.bug);
  if ('error' in reading) throw reading.error;
  return reading;
}

function readInThread(text: string, limits: YamlLimits, clock: Clock): Promise<YamlBody> {
  const thread = (worker ??= startWorker());
  return new Promise((resolve, reject) => {
    const done = (): void => {
      timer.cancel();
      thread.off('message', onAnswer);
      thread.off('error', onError);
      thread.off('exit', onExit);
    };
    /** Ends the thread. The next text gets a new one. */
    const fail = (error: Error): void => {
      done();
      if (worker === thread) worker = undefined;
      // Further messages of the thread are about this text, so they are ignored.
      thread.on('error', () => undefined);
      void thread.terminate();
      reject(error);
    };
    const onAnswer = (answer: YamlAnswer): void => {
      if ('bug' in answer) {
        fail(new Error(answer.bug));
        return;
      }
      done();
      if ('error' in answer) reject(new YamlError(answer.error, answer.line, answer.reason));
      else
        resolve({
          value: answer.bigints
            ? parseJson(answer.json, { bigints: true, maxDepth: Infinity })
            : (JSON.parse(answer.json) as unknown),
          ...(answer.duplicates !== undefined && { duplicates: answer.duplicates }),
        });
    };
    const onError = (error: NodeJS.ErrnoException): void =>
      fail(
        error.code === 'ERR_WORKER_OUT_OF_MEMORY'
          ? apierrors.requestEntityTooLarge('the YAML takes too much memory to read')
          : error,
      );
    const onExit = (): void => fail(new Error('the thread that reads YAML has ended'));
    const timer = clock.setTimer(TIME_LIMIT_MS, () =>
      fail(apierrors.requestEntityTooLarge('the YAML takes too long to read')),
    );
    thread.on('message', onAnswer);
    thread.on('error', onError);
    thread.on('exit', onExit);
    thread.postMessage({ text, limits }, []);
  });
}

function startWorker(): Worker {
  const source = workerSource(
    new URL('./yaml-worker.js', import.meta.url),
    new URL('./yaml-worker.ts', import.meta.url),
  );
  const thread = new Worker(source.url, {
    execArgv: source.execArgv,
    name: 'yaml',
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB, maxYoungGenerationSizeMb: 32 },
  });
  thread.unref();
  return thread;
}
