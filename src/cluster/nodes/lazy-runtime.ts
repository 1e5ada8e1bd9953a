// A runtime that is made when it is first used, and again after it was released.

import type { Runtime } from '#cri/index.ts';

export function lazyRuntime(name: string, make: () => Runtime): Runtime {
  let made: Runtime | undefined;
  const services = (): Runtime => (made ??= make());
  return {
    name,
    get runtime() {
      return services().runtime;
    },
    get images() {
      return services().images;
    },
    // A runtime that has not been made has not changed.
    changes: () => (made === undefined ? 0 : made.changes?.()),
    outline: () => services().outline?.(),
    release: () => {
      if (made !== undefined && made.release?.() !== true) return false;
      made = undefined;
      return true;
    },
    close: () => made?.close() ?? Promise.resolve(),
  };
}
