// Tests that would take minutes run in part: `npm test` does a representative part, and every night
// (tools/nightly), which sets COXSWAIN_LONG_TESTS=1, does the whole.

const isLong = process.env['COXSWAIN_LONG_TESTS'] === '1';

/** Returns the size of a test, or its parameters: `part` in `npm test`, `whole` at night. */
export const partOrWhole = <T>(part: T, whole: T): T => (isLong ? whole : part);
