// The built program: all of src/ in one file, whose parts are evaluated at their first use.

import type { Build } from '#cli/build.ts';
import type * as apiWorkerProcess from '#cluster/api-workers/worker.ts';
import type * as threadWorker from '#cluster/thread/worker.ts';
import type * as client from '#exports/client.ts';
import type * as controller from '#exports/controller.ts';
import type * as index from '#exports/index.ts';
import type * as scheduler from '#exports/scheduler.ts';
import type * as testing from '#exports/testing.ts';

/** The entries of the package, by the names of their files. */
export interface Entries {
  readonly index: () => typeof index;
  readonly client: () => typeof client;
  readonly controller: () => typeof controller;
  readonly scheduler: () => typeof scheduler;
  readonly testing: () => typeof testing;
}

export interface Program {
  /** The `cox` command. */
  cox(build: Build): Promise<void>;
  readonly entries: Entries;
  /** Runs the thread of the components. */
  thread(): typeof threadWorker;
  /** Runs an API server worker. */
  apiWorker(): typeof apiWorkerProcess;
}

export const cox: Program['cox'] = async (build) => (await import('#cli/cox.ts')).runCox(build);

// Not `import()`: the package can then be loaded by `require`, too.
export const entries: Entries = {
  index: () => require('../../src/exports/index.ts'),
  client: () => require('../../src/exports/client.ts'),
  controller: () => require('../../src/exports/controller.ts'),
  scheduler: () => require('../../src/exports/scheduler.ts'),
  testing: () => require('../../src/exports/testing.ts'),
};

export const thread: Program['thread'] = () => require('../../src/cluster/thread/worker.ts');

export const apiWorker: Program['apiWorker'] = () =>
  require('../../src/cluster/api-workers/worker.ts');
