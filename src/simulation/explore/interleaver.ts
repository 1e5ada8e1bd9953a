// Decides in which order the requests of several reconcilers are handled. A run is a sequence of choices; from the
// choices that a run had, the next sequence follows, until all up to a bound have been tried.

import type { ApiResponse } from '#apiserver/request.ts';
import type { Clock } from '#machinery/clock.ts';
import type { FaultRule } from '../faults/interceptor.ts';

/**
 * So many turns of the event loop without a further request mean that every reconciler waits for an answer, or rests.
 */
const QUIET_TURNS = 4;

interface Waiting {
  readonly component: string;
  handle(): Promise<void>;
}

export class Interleaver {
  readonly #clock: Clock;
  readonly #isSubject: (component: string) => boolean;
  readonly #choices: readonly number[];
  readonly #waiting: Waiting[] = [];
  #quiet = 0;
  #running = false;
  /** How many reconcilers could go on, at each point where there was a choice. */
  readonly branches: number[] = [];

  constructor(clock: Clock, isSubject: (component: string) => boolean, choices: readonly number[]) {
    this.#clock = clock;
    this.#isSubject = isSubject;
    this.#choices = choices;
  }

  /** The choices that were made, one for each branch. */
  get choices(): readonly number[] {
    return this.branches.map((count, index) => Math.min(this.#choices[index] ?? 0, count - 1));
  }

  readonly rule: FaultRule = {
    request: (call, next) => {
      // Informers list and watch; it is the reconciles that race.
      if (call.verb === 'list' || call.verb === 'watch' || !this.#isSubject(call.component))
        return undefined;
      return new Promise<ApiResponse>((resolve, reject) => {
        this.#waiting.push({
          component: call.component,
          handle: () => next().then(resolve, reject),
        });
        this.#quiet = 0;
        if (this.#running) return;
        this.#running = true;
        this.#clock.setTimer(0, () => this.#turn());
      });
    },
  };

  #turn(): void {
    if (++this.#quiet <= QUIET_TURNS) {
      this.#clock.setTimer(0, () => this.#turn());
      return;
    }
    const components = [...new Set(this.#waiting.map(({ component }) => component))].sort();
    let chosen = components[0];
    if (components.length > 1) {
      const choice = this.#choices[this.branches.length] ?? 0;
      chosen = components[Math.min(choice, components.length - 1)];
      this.branches.push(components.length);
    }
    const index = this.#waiting.findIndex(({ component }) => component === chosen);
    const [next] = this.#waiting.splice(index, 1);
    this.#quiet = 0;
    void (next?.handle() ?? Promise.resolve()).then(() => {
      if (this.#waiting.length === 0) this.#running = false;
      else this.#clock.setTimer(0, () => this.#turn());
    });
  }
}

/**
 * Returns the choices of the run after one that had these, in the order of a depth-first search; undefined: all have
 * been tried. Choices behind number `depth` are not varied.
 */
export function nextChoices(
  choices: readonly number[],
  branches: readonly number[],
  depth: number,
): readonly number[] | undefined {
  for (let at = Math.min(branches.length, depth) - 1; at >= 0; at--) {
    const choice = choices[at] ?? 0;
    if (choice + 1 < (branches[at] as number)) return [...choices.slice(0, at), choice + 1];
  }
  return undefined;
}
