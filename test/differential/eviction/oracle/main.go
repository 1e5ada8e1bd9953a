// Plays the cases of standard input with upstream's eviction manager, often enough to get all answers
// that it may give: some depend on the random order of maps.
package main

import (
	"encoding/json"
	"os"

	"oracle/eviction"
)

func main() {
	var cases []eviction.OracleCase
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	results := [][][]json.RawMessage{}
	for _, c := range cases {
		steps := make([][]json.RawMessage, len(c.Steps))
		seen := make([]map[string]bool, len(c.Steps))
		for run := 0; run < 150; run++ {
			for k, r := range eviction.Oracle(c) {
				text, _ := json.Marshal(r)
				if seen[k] == nil {
					seen[k] = map[string]bool{}
				}
				if !seen[k][string(text)] {
					seen[k][string(text)] = true
					steps[k] = append(steps[k], text)
				}
			}
		}
		results = append(results, steps)
	}
	json.NewEncoder(os.Stdout).Encode(results)
}
