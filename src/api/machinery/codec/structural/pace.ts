// Splits work on the nodes of a schema into steps.

/** The number of nodes in one step, which takes a few milliseconds. */
const NODES_PER_STEP = 150;

export class Pace {
  #nodes = 0;

  /** Counts a node. Returns true if the step should end before it. */
  get isStepOver(): boolean {
    return ++this.#nodes % NODES_PER_STEP === 0;
  }
}
