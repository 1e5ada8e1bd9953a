// Explains what happens in a cluster: records of requests, changes and watch events, histories of
// objects, convergence, breakpoints.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Handler } from '#apiserver/request.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Storage } from '#storage/interface.ts';
import { Breakpoints } from './breakpoints.ts';
import { converge } from './convergence.ts';
import { historyOf } from './history.ts';
import { Recorder } from './recorder.ts';
import type { Insight } from './types.ts';

export { formatHistory } from './format-history.ts';
export { formatEvent } from './records.ts';
export type * from './types.ts';

export interface InsightParts {
  readonly insight: Insight;
  /** For the API server. */
  readonly wrapHandler: (handler: Handler) => Handler;
  close(): void;
}

export function makeInsight(config: {
  readonly clock: Clock;
  readonly storage: Storage;
  /** Records from the beginning. */
  readonly record: boolean;
}): InsightParts {
  const { clock, record } = config;
  const recorder = new Recorder(config);
  const breakpoints = new Breakpoints(recorder, clock);
  if (record) recorder.start();
  return {
    insight: {
      events() {
        recorder.start();
        recorder.check();
        return recorder.log;
      },
      history(
        subject: ResourceType | Immutable<KubeObject>,
        name?: string,
        options: { readonly namespace?: string } = {},
      ) {
        if (!recorder.started)
          throw new TypeError('nothing is recorded: start the cluster with `insight: true`');
        recorder.check();
        if ('metadata' in subject) {
          const { kind, metadata } = subject;
          return historyOf(recorder.log, { kind, ...metadata });
        }
        const { kind, namespaced } = subject;
        const namespace = namespaced ? (options.namespace ?? 'default') : undefined;
        return historyOf(recorder.log, { kind, namespace, name: name as string });
      },
      converge: (options) => converge(recorder, clock, options),
      breakpoint: (condition, options) => breakpoints.next(condition, options),
    },
    wrapHandler: recorder.wrap,
    close() {
      breakpoints.close();
      recorder.stop();
    },
  };
}
