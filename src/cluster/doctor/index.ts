// Diagnoses this machine: the features of a cluster that it lacks something for, and how to get that.

export { diagnose, type Feature, type Finding, type FindingState } from './diagnose.ts';
export { readFacts } from './read-facts.ts';
