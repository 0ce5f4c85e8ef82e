// How results of a search are ordered: a guide whose title has the words comes before names of the API.
// Sphinx reads it by html_search_scorer; the numbers at the end are its own.
"use strict";

const GUIDES = /^(install|faq|tutorials|howto|explanation|reference)(\/|$)/;
const SHORTEST = 3; // letters of a word that counts: not "a", "to", "of"
const STEM = 5; // letters that two forms of a word share: choose, choosing
const ENDING = 3; // letters by which one of them may be longer

function wordsOf(text) {
  return text.split(/[^\p{L}\d]+/u).filter((word) => word.length >= SHORTEST);
}

// The share of the words that were asked for which a title has.
function shareIn(title, asked) {
  const there = wordsOf(title);
  const same = (one, other) => {
    const [short, long] = one.length < other.length ? [one, other] : [other, one];
    return long.startsWith(short.slice(0, STEM)) && long.length - short.length <= ENDING;
  };
  const found = asked.filter((word) => there.some((other) => same(word, other)));
  return asked.length ? found.length / asked.length : 0;
}

function scoreResult([page, title, _anchor, _about, score, _file, kind]) {
  const query = (new URLSearchParams(location.search).get("q") || "").toLowerCase().trim();
  const asked = wordsOf(query);
  const [ofPage, section] = title.toLowerCase().split(" > ");
  if (kind === "index") return score - 100; // an entry of the glossary, or a name of the API
  if (kind === "object") return score - 10;
  if (!GUIDES.test(page)) return score;
  score += 20 + 60 * Math.max(shareIn(ofPage, asked), section ? shareIn(section, asked) / 2 : 0);
  if (query && ofPage.replace(/^(the|an?) /, "").startsWith(query)) score += 10;
  return score;
}

var Scorer = {
  score: scoreResult,
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
