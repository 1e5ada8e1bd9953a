// The rules of custom resources (x-kubernetes-validations). See README.md.

export { type CompiledRules, compileRulesOf } from './precompiled.ts';
export { evaluateObject } from './object-rules.ts';
export { RuleRun } from './evaluate.ts';
export { Place } from './place.ts';
export { Ratchet } from './ratchet.ts';
export { type RuleNode, ruleNodeOf } from './rule-node.ts';
export { NO_TIMES, type RuleTimes } from './times.ts';
