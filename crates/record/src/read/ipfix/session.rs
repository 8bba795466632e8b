//! A session (RFC 7011): the state that messages build upon, apart from where they come from.

use super::field_plan::FieldPlan;
use super::template::{Element, ExportProtocol, Octets, Template, TemplateRecord, unsigned};
use super::values::{ExportTimes, RecordValues, SamplingStatement as Sampling};
use crate::ipfix::{OPTIONS_TEMPLATE_SET, SET_HEADER, TEMPLATE_SET, element};
use flow::{InformationElement, Share};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// The version of IPFIX in the header of a message.
pub(crate) const VERSION: u16 = 10;
/// The most fields of all templates that are known at a time.
const MOST_FIELDS: usize = 1 << 18;
/// The elements that are remembered.
const MOST_ELEMENTS: usize = 1024;
/// The most observation domains.
const MOST_DOMAINS: usize = 4096;
/// The number of names that elements may tell of themselves: after each all that was made of names is made anew.
const MOST_CHANGES: u32 = 512;
/// The most octets of a name.
const LONGEST_NAME: usize = 255;
/// systemInitTimeMilliseconds.
const SYSTEM_START: Element = Element::registered(160);

/// The state of a session: what is known of the sender.
#[derive(Debug, Default)]
pub(crate) struct IpfixSession {
    domains: HashMap<u32, Domain>,
    /// Fields of all templates.
    fields: usize,
    /// The elements of all templates of flows so far, in the order in which they came.
    elements: Vec<Element>,
    seen: HashSet<Element>,
    /// Names of elements that describe themselves (RFC 5610).
    names: HashMap<Element, String>,
    changes: u32,
    /// Sets whose template is not known, by domain and number.
    unknown: BTreeSet<(u32, u16)>,
    /// The number of sets that had no template before them.
    without_template: u64,
    /// True if options say that packets were left out.
    is_sampled: bool,
    /// The elements that options say are those of keys of flows.
    key: Vec<Element>,
    /// The probabilities with which options say that packets are counted, as far as two differ.
    probabilities: Vec<Option<f64>>,
}

/// A template, and what follows from it for each of its records.
#[derive(Debug)]
pub(crate) struct SessionTemplate {
    pub(crate) template: Template,
    /// The plan that reads what records tell of sampling, if they tell anything of it.
    sampling: Option<FieldPlan>,
    /// Flags for sources and for destinations: true if records have one.
    pub(crate) has_ends: [bool; 2],
}

/// An observation domain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Domain {
    templates: HashMap<u16, Arc<SessionTemplate>>,
    /// observationDomainName.
    pub(crate) name: Option<Arc<str>>,
    /// The time at which the uptime of the exporter began, milliseconds since the epoch.
    pub(crate) start_ms: Option<u64>,
}

/// A flow record.
pub(crate) struct IpfixRecord<'a> {
    pub(crate) known: &'a Arc<SessionTemplate>,
    set: &'a [u8],
    fields: &'a [Range<usize>],
    pub(crate) session: &'a IpfixSession,
    pub(crate) domain: &'a Domain,
    /// The number of the domain.
    pub(crate) number: u32,
    /// The export time, seconds since the epoch.
    pub(crate) export_time: u32,
}

impl IpfixRecord<'_> {
    /// The octets of a field, by its number.
    pub(crate) fn field(&self, at: usize) -> &[u8] {
        &self.set[self.fields[at].clone()]
    }

    /// Returns the set of the record, and the ranges of its fields in the set.
    pub(crate) fn octets_of_fields(&self) -> (&[u8], &[Range<usize>]) {
        (self.set, self.fields)
    }

    /// Returns what the message of the record tells of time.
    pub(crate) fn facts(&self) -> ExportTimes {
        ExportTimes { export_ns: u64::from(self.export_time) * 1_000_000_000, uptime_ms: None }
    }

    /// The number in the first field of an element, if there is one.
    fn number_of(&self, element: Element) -> Option<u64> {
        unsigned(self.octets(element)?)
    }

    /// The octets of the first field of an element.
    fn octets(&self, element: Element) -> Option<&[u8]> {
        let at = self.known.template.elements().position(|of| of == element)?;
        Some(self.field(at))
    }

    fn text(&self, element: Element) -> Option<String> {
        let octets = self.octets(element)?;
        Some(String::from_utf8_lossy(&octets[..octets.len().min(LONGEST_NAME)]).into_owned())
    }

    /// Returns true if the record says that packets were left out, of itself or, in options, of others.
    pub(crate) fn tells_of_samples(&self) -> bool {
        self.probability().is_some_and(leaves_out)
    }

    /// Returns the probability with which the record says that packets are counted, of itself or of others; `None` within where it says that
    /// some are left out, and not how many.
    fn probability(&self) -> Option<Option<f64>> {
        let plan = self.known.sampling.as_ref()?;
        Some(match RecordValues::read(plan, self.set, self.fields).sampling()? {
            Sampling::Rate { packets, counted } => Some(counted as f64 / packets as f64),
            Sampling::Probability(probability) => Some(probability),
            Sampling::Unknown => None,
        })
    }

    /// The elements of a template that a record of options says are those of the key (RFC 7011, section 4.4).
    fn keys(&self) -> Vec<Element> {
        let template =
            self.number_of(convert_element(element::TEMPLATE)).and_then(|id| u16::try_from(id).ok());
        let known = template.and_then(|id| self.domain.templates.get(&id));
        let (Some(known), Some(keys)) = (known, self.number_of(convert_element(element::FLOW_KEYS))) else {
            return Vec::new();
        };
        let elements = known.template.elements().take(64).enumerate();
        elements.filter(|(at, _)| keys >> at & 1 != 0).map(|(_, element)| element).collect()
    }

    /// The element that a record of options describes, and its name (RFC 5610).
    fn described(&self) -> Option<(Element, String)> {
        let enterprise = u32::try_from(self.number_of(convert_element(element::ENTERPRISE))?).ok()?;
        let number = u16::try_from(self.number_of(convert_element(element::ELEMENT_ID))?).ok()?;
        let element = Element { enterprise, number: number & 0x7fff };
        Some((element, self.text(convert_element(element::ELEMENT_NAME))?))
    }
}

/// Returns true if packets are left out where they are counted with this probability; `None` is one that is not told.
fn leaves_out(probability: Option<f64>) -> bool {
    probability.is_none_or(|of| of < 1.0)
}

fn convert_element(element: InformationElement) -> Element {
    Element { enterprise: element.enterprise, number: element.number }
}

impl IpfixSession {
    /// A session of the same sender that begins anew: without templates, but with what is known of names and starts.
    pub(crate) fn again(&self) -> Self {
        let known = |domain: &Domain| Domain { templates: HashMap::new(), ..domain.clone() };
        Self {
            domains: self.domains.iter().map(|(id, domain)| (*id, known(domain))).collect(),
            names: self.names.clone(),
            ..Self::default()
        }
    }

    /// The domains by their numbers.
    pub(crate) fn domains(&self) -> &HashMap<u32, Domain> {
        &self.domains
    }

    /// The elements of all templates of flows so far.
    pub(crate) fn elements(&self) -> impl Iterator<Item = Element> + '_ {
        self.elements.iter().copied()
    }

    /// Sets whose template was not known, by domain and number of the template.
    pub(crate) fn unknown(&self) -> impl Iterator<Item = (u32, u16)> + '_ {
        self.unknown.iter().copied()
    }

    /// Returns the number of sets that had no template before them.
    pub(crate) fn without_template(&self) -> u64 {
        self.without_template
    }

    /// Returns true if options said that packets were left out.
    pub(crate) fn is_sampled(&self) -> bool {
        self.is_sampled
    }

    /// The elements that options say are those of keys of flows; none where they do not say it.
    pub(crate) fn key(&self) -> &[Element] {
        &self.key
    }

    /// Returns the share by which packets were sampled, where options tell one for all.
    pub(crate) fn share(&self) -> Option<Share> {
        let [Some(probability)] = self.probabilities[..] else { return None };
        Share::from_probability(probability)
    }

    /// The name that an element says it has.
    pub(crate) fn name(&self, element: Element) -> Option<&str> {
        self.names.get(&element).map(String::as_str)
    }

    /// Returns a number that increases when an element changes its name.
    pub(crate) fn changes(&self) -> u32 {
        self.changes
    }

    /// Reads a message of exactly these octets; `take` takes each flow record and returns false if no more are wanted, which is returned.
    ///
    /// # Errors
    /// Returns what is wrong with the message. The records before it are right.
    pub(crate) fn read(
        &mut self,
        message: &[u8],
        take: &mut dyn FnMut(&IpfixRecord<'_>) -> Result<bool, String>,
    ) -> Result<bool, String> {
        let mut octets = Octets(message);
        let mut header = || {
            let (version, length) = (octets.u16()?, octets.u16()?);
            let (export_time, _sequence, domain) = (octets.u32()?, octets.u32()?, octets.u32()?);
            Some((version, usize::from(length), export_time, domain))
        };
        let (version, length, export_time, domain) = header().ok_or("its header is cut off")?;
        if version != VERSION || length != message.len() {
            return Err(format!("version {version}, {length} octets: no message of IPFIX"));
        }
        if !self.domains.contains_key(&domain) {
            if self.domains.len() == MOST_DOMAINS {
                return Err(format!("there are more than {MOST_DOMAINS} observation domains"));
            }
            self.domains.insert(domain, Domain::default());
        }
        while octets.0.len() >= SET_HEADER {
            let at = message.len() - octets.0.len();
            let (Some(id), Some(length)) = (octets.u16(), octets.u16()) else { break };
            let content = usize::from(length).checked_sub(SET_HEADER).and_then(|length| octets.take(length));
            let set = content.ok_or_else(|| format!("the set at octet {at} has {length} octets"))?;
            match id {
                TEMPLATE_SET => self.learn(domain, set, false)?,
                OPTIONS_TEMPLATE_SET => self.learn(domain, set, true)?,
                256.. if !self.data(domain, id, set, export_time, take)? => return Ok(false),
                // Data that were taken, or a number that is reserved.
                _ => {}
            }
        }
        Ok(true)
    }

    fn learn(&mut self, domain: u32, set: &[u8], is_options: bool) -> Result<(), String> {
        let mut octets = Octets(set);
        while let Some(told) = Template::read(&mut octets, is_options, ExportProtocol::Ipfix)? {
            let templates = &mut self.domains.entry(domain).or_default().templates;
            match told {
                TemplateRecord::Definition(id, template) => {
                    // Over UDP templates are told again and again: what was made of one stays.
                    if templates.get(&id).is_some_and(|known| known.template == template) {
                        continue;
                    }
                    self.fields += 1 + template.len();
                    for element in template.elements().filter(|_| !is_options) {
                        if self.elements.len() < MOST_ELEMENTS && self.seen.insert(element) {
                            self.elements.push(element);
                        }
                    }
                    let sampling = FieldPlan::from_sampling_template(&template);
                    let has_ends = FieldPlan::from_template(&template).has_ends();
                    let known = SessionTemplate { template, sampling, has_ends };
                    let before = templates.insert(id, Arc::new(known));
                    self.fields -= before.map_or(0, |before| 1 + before.template.len());
                    if self.fields > MOST_FIELDS {
                        return Err(format!("its templates have more than {MOST_FIELDS} fields in all"));
                    }
                }
                TemplateRecord::Withdrawal(id) => {
                    let is_of = |template: &Template| template.is_options == is_options;
                    let ids: Vec<u16> = match id {
                        TEMPLATE_SET | OPTIONS_TEMPLATE_SET => templates.keys().copied().collect(),
                        id => vec![id],
                    };
                    for id in ids {
                        if templates.get(&id).is_some_and(|known| is_of(&known.template))
                            && let Some(withdrawn) = templates.remove(&id)
                        {
                            self.fields -= 1 + withdrawn.template.len();
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn data(
        &mut self,
        number: u32,
        id: u16,
        set: &[u8],
        export_time: u32,
        take: &mut dyn FnMut(&IpfixRecord<'_>) -> Result<bool, String>,
    ) -> Result<bool, String> {
        let Some(known) = self.domains.get(&number).and_then(|domain| domain.templates.get(&id)).cloned()
        else {
            self.without_template += 1;
            if self.unknown.len() < MOST_DOMAINS {
                self.unknown.insert((number, id));
            }
            return Ok(true);
        };
        let mut fields = Vec::new();
        let mut at = 0;
        while known.template.split(set, &mut at, &mut fields)? {
            let Some(domain) = self.domains.get(&number) else { break };
            let record = IpfixRecord {
                known: &known,
                set,
                fields: &fields,
                session: self,
                domain,
                number,
                export_time,
            };
            if !known.template.is_options {
                if !take(&record)? {
                    return Ok(false);
                }
                continue;
            }
            let about = record
                .number_of(convert_element(element::DOMAIN))
                .and_then(|number| u32::try_from(number).ok());
            let name = record.text(convert_element(element::DOMAIN_NAME));
            let start_ms = record.number_of(SYSTEM_START);
            let described = record.described();
            let probability = record.probability();
            let keys = record.keys();
            let is_new = |element: &Element| !self.key.contains(element);
            let keys: Vec<Element> = keys.into_iter().filter(is_new).collect();
            if self.key.len() < MOST_ELEMENTS {
                self.key.extend(keys);
            }
            self.is_sampled |= probability.is_some_and(leaves_out);
            if let Some(probability) = probability
                && self.probabilities.len() < 2
                && !self.probabilities.contains(&probability)
            {
                self.probabilities.push(probability);
            }
            self.describe(about.unwrap_or(number), name, start_ms);
            if let Some((element, name)) = described {
                self.rename(element, name);
            }
        }
        Ok(true)
    }

    fn describe(&mut self, number: u32, name: Option<String>, start_ms: Option<u64>) {
        if name.is_none() && start_ms.is_none()
            || self.domains.len() == MOST_DOMAINS && !self.domains.contains_key(&number)
        {
            return;
        }
        let domain = self.domains.entry(number).or_default();
        if let Some(name) = name.filter(|name| !name.is_empty() && domain.name.as_deref() != Some(name)) {
            domain.name = Some(name.into());
        }
        domain.start_ms = start_ms.or(domain.start_ms);
    }

    fn rename(&mut self, element: Element, name: String) {
        let is_known = self.names.get(&element).is_some_and(|known| *known == name);
        if !is_known && self.changes < MOST_CHANGES {
            // A name that is new does not change what is known, but plans may have been made without it.
            self.changes += 1;
            self.names.insert(element, name);
        }
    }
}
