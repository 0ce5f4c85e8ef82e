// How results of a search are ordered: a guide whose title has the word comes before names of the API.
// Sphinx reads it by html_search_scorer; the numbers at the end are its own.
"use strict";

const GUIDES = /^(install|faq|tutorials|howto|explanation|reference)(\/|$)/;

function scoreResult([page, title, _anchor, _about, score, _file, kind]) {
  const asked = (new URLSearchParams(location.search).get("q") || "").toLowerCase().trim();
  const [ofPage, section] = title.toLowerCase().split(" > ");
  if (kind === "index") return score - 100; // an entry of the glossary, or a name of the API
  if (kind === "object") return score - 10;
  if (!GUIDES.test(page)) return score;
  score += 20;
  if (asked && ofPage.includes(asked)) score += 60;
  else if (asked && section && section.includes(asked)) score += 30;
  if (asked && ofPage.replace(/^(the|an?) /, "").startsWith(asked)) score += 10;
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
