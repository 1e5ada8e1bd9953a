// The built program: all of src/ in one file, whose parts are evaluated when they are first asked for.

import type { Build } from '#cli/build.ts';
import type * as cluster from '#cluster/index.ts';
import type * as threadWorker from '#cluster/thread/worker.ts';

export interface Program {
  /** The `cox` command. */
  cox(build: Build): Promise<void>;
  /** What `import … from 'coxswain'` gives. */
  embedding(): typeof cluster;
  /** What runs in the thread of the components. */
  thread(): typeof threadWorker;
}

export const cox: Program['cox'] = async (build) => (await import('#cli/cox.ts')).runCox(build);

// Not `import()`: the package can then be had by `require`, too.
export const embedding: Program['embedding'] = () => require('../../src/cluster/index.ts');

export const thread: Program['thread'] = () => require('../../src/cluster/thread/worker.ts');
